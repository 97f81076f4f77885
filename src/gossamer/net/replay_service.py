"""The replay service: readers of the archive, each on a thread, with the logins and permissions of
MQTT clients.

Threads and blocking sockets, not the event loop: a reader may take gigabytes, and what is sent must
not pass through the loop that serves the clients. The loop is asked only about logins.

Who has not logged in has ten seconds for its whole request and a place among strangers, which it
loses to others when there are many; only who has logged in takes a reader's place.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from gossamer.archive.archive import Archive
from gossamer.archive.folder import ArchiveError, RowsLost
from gossamer.archive.replay import BadRequest, MayLocate, ReplayAnswer, Rights
from gossamer.archive.replay_protocol import (
    BAD,
    FAILED,
    REFUSED,
    BadFrame,
    check_version,
    frame,
    read_request,
)
from gossamer.archive.segment_lifecycle import Upkeep
from gossamer.archive.selection import Allows
from gossamer.broker.broker import Broker
from gossamer.broker.policy import Verdict
from gossamer.net.auth.backend import Attempt
from gossamer.net.auth.from_config import REPLAY
from gossamer.net.auth.logins import Logins
from gossamer.net.config.store import ArchiveSection
from gossamer.net.login_slots import LoginPlace, LoginSlots, UserShares
from gossamer.net.resolved_config import ResolvedConfig
from gossamer.net.tls import certificate_user
from gossamer.session.identity import Identity
from gossamer.wire.reasons import SUCCESS

logger = logging.getLogger(__name__)

# For the handshake and the whole request, which is one small frame.
REQUEST_SECONDS: Final = 10.0
# That a stranger keeps its place for certain: more than the way of a request takes.
PATIENCE_SECONDS: Final = 0.25
# How often whoever found no place looks again; the next wait in the system's queue meanwhile.
LOOK_SECONDS: Final = 0.01
# For a reader to take the next piece of what is sent.
SEND_SECONDS: Final = 300.0
BACKLOG: Final = 128


class ReplayService:
    """Accepts on a thread of its own; `stop` ends every reader."""

    def __init__(
        self,
        archive: Archive,
        broker: Broker,
        logins: Logins,
        section: ArchiveSection,
        context: ssl.SSLContext | None,
    ) -> None:
        self._archive = archive
        self._broker = broker
        self._logins = logins
        self._context = context
        self._filters = section.filters
        self._loop = asyncio.get_running_loop()
        self.strangers = LoginSlots(PATIENCE_SECONDS)
        self.places = UserShares(section.replay_readers)
        self._stopping = threading.Event()
        self._socket = socket.create_server(
            (section.replay_host, section.replay_port),
            family=socket.AF_INET6 if ":" in section.replay_host else socket.AF_INET,
            backlog=BACKLOG,
        )
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, name="gossamer-replay", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._socket.close()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                connection, address = self._socket.accept()
            except OSError:
                if self._stopping.is_set():
                    return
                self._stopping.wait(0.1)  # out of descriptors: others will be closed
                continue
            caller = _Caller(connection, str(address[0]))
            stranger = self._place(caller)
            if stranger is None:
                caller.close()
                return
            threading.Thread(
                target=self._serve, args=(caller, stranger), name="gossamer-reader", daemon=True
            ).start()

    def _place(self, caller: _Caller) -> LoginPlace | None:
        """Waits for it; None if the service stops meanwhile."""
        while not self._stopping.is_set():
            stranger = self.strangers.enter(caller.address, time.monotonic(), caller.cut)
            self._broker.core.counters.replay_strangers_cut = self.strangers.cut
            if stranger is not None:
                return stranger
            self._stopping.wait(LOOK_SECONDS)
        return None

    def _serve(self, caller: _Caller, stranger: LoginPlace) -> None:
        try:
            caller.greet(self._context)
            self._answer(caller, stranger)
        except OSError as error:
            logger.debug("lost the connection to the reader at %s: %s", caller.address, error)
        except Exception:
            logger.exception("a request from %s failed", caller.address)
        finally:
            self.strangers.leave(stranger)
            caller.close()

    def _answer(self, caller: _Caller, stranger: LoginPlace) -> None:
        try:
            self._answer_request(caller, stranger)
        except BadRequest as error:
            caller.refuse(error, error.code)
        except BadFrame as error:
            caller.refuse(error, BAD)
        except ArchiveError as error:
            caller.refuse(error, FAILED)

    def _answer_request(self, caller: _Caller, stranger: LoginPlace) -> None:
        """Sends the whole answer while the reader has a place: it may take it slowly."""
        request = read_request(caller.exactly)
        if not self.strangers.heard(stranger):
            return
        check_version(request, "the broker, or ask with an older client")
        rights = self._rights(request, caller.address, _certificate_user(caller.connection))
        self.strangers.leave(stranger)
        if not self.places.take(rights.who):
            raise BadRequest("too many readers at once; try later", FAILED)
        try:
            caller.connection.settimeout(SEND_SECONDS)
            caller.connection.sendall(self._read_for(rights, request, caller.connection))
        finally:
            self.places.give_back(rights.who)

    def _read_for(
        self, rights: ReaderRights, request: dict[str, Any], connection: socket.socket
    ) -> bytes:
        """The answer, or nothing more if it was sent already."""
        answering = ReplayAnswer(self._archive, rights, self._stopping)
        action = request.get("action")
        if action == "describe":
            return frame(answering.describe(request))
        if action == "locate":
            return frame(answering.locate(request))
        if action == "segment":
            answering.send_segment(request, connection)
            return b""
        if action != "read":
            raise BadRequest("action is read, describe, locate or segment")
        try:
            reading = answering.reading(request)
        except RowsLost as error:
            return frame(answering.lost(error))
        answering.send(reading, connection)
        return b""

    def _rights(self, request: dict[str, Any], address: str, certificate_user: str) -> ReaderRights:
        user, password = _text(request, "user"), _text(request, "password")
        token = _text(request, "token")
        secret = token if token is not None else password
        sent = None if secret is None else secret.encode()
        verdict = self._verdict(Attempt("", user, sent, address, REPLAY, certificate_user))
        if verdict.reason != SUCCESS:
            raise BadRequest(verdict.text or "wrong user name or password", REFUSED)
        identity = Identity("", verdict.user, address, REPLAY)
        identity.groups = verdict.groups
        return ReaderRights(self._broker, identity, self._filters)

    def _verdict(self, attempt: Attempt) -> Verdict:
        """Readers take their turns at the login threads with everybody else."""
        asked = asyncio.run_coroutine_threadsafe(self._logins.verdict(attempt), self._loop)
        try:
            return asked.result(REQUEST_SECONDS)
        except TimeoutError:
            asked.cancel()
            raise BadRequest("too many logins at once; try later", FAILED) from None


class _Caller:
    """A connection, and the time that it has for its request."""

    def __init__(self, connection: socket.socket, address: str) -> None:
        self.connection = connection
        self.address = address
        self._deadline = time.monotonic() + REQUEST_SECONDS
        self._is_cut = False

    def greet(self, context: ssl.SSLContext | None) -> None:
        """By TLS, if there is a context for it."""
        self.connection.settimeout(REQUEST_SECONDS)
        if context is not None:
            # Known before the handshake, so that it can be cut in the middle of it.
            secure = context.wrap_socket(
                self.connection, server_side=True, do_handshake_on_connect=False
            )
            self.connection = secure
            if self._is_cut:
                raise ConnectionError("it was cut")
            secure.do_handshake()

    def exactly(self, size: int) -> bytes:
        pieces = []
        while size:
            self.connection.settimeout(max(0.001, self._deadline - time.monotonic()))
            piece = self.connection.recv(min(size, 1 << 16))
            if not piece:
                raise ConnectionError("the request is cut off")
            pieces.append(piece)
            size -= len(piece)
            if time.monotonic() >= self._deadline:
                raise TimeoutError("the request took too long")
        return b"".join(pieces)

    def refuse(self, error: Exception, code: str) -> None:
        self.connection.sendall(frame({"ok": False, "error": str(error), "code": code}))

    def cut(self) -> None:
        """From any thread: whoever reads from it finds the end."""
        self._is_cut = True
        with suppress(OSError):  # it may be gone already
            # The socket's own, not TLS's, which would take the state from under the reader.
            socket.socket.shutdown(self.connection, socket.SHUT_RDWR)

    def close(self) -> None:
        self.connection.close()


class ReaderRights(Rights):
    """Those of a client that would subscribe, by the rules in force when it asked."""

    def __init__(self, broker: Broker, identity: Identity, archived: Sequence[str]) -> None:
        self.who = identity.user or f"@{identity.address}"  # whose share of the places it takes
        self._core = broker.core
        self._identity = identity
        self._archived = archived
        self._permissions = broker.core.permissions

    def may_subscribe(self, filter: str) -> bool:
        return self._permissions.may_subscribe(self._identity, filter, False)

    def allows(self) -> Allows | None:
        if not self._permissions.restricts:
            return None
        return lambda topic: self._permissions.may_receive(self._identity, topic)

    def may_locate(self) -> MayLocate | None:
        if not self._permissions.guards_positions:
            return None
        return lambda user: self._permissions.may_locate(self._identity, user)

    def may_read_everything(self) -> bool:
        return self._permissions.may_read_everything(self._identity, self._archived)

    def hold(self) -> bool:
        return self._core.permissions is self._permissions


def _certificate_user(connection: socket.socket) -> str:
    if not isinstance(connection, ssl.SSLSocket):
        return ""
    return certificate_user(connection.getpeercert())


def _text(request: dict[str, Any], key: str) -> str | None:
    value = request.get(key)
    if value is not None and not isinstance(value, str):
        raise BadRequest(f"{key} is a text")
    return value


class ArchiveService:
    """What runs beside a broker that archives: the archive's upkeep, and the replay service.

    Starts with the listeners; OSError if the replay service cannot listen.
    """

    def __init__(
        self, archive: Archive, broker: Broker, logins: Logins, resolved: ResolvedConfig
    ) -> None:
        section = resolved.config.archive
        assert section is not None
        archive.collector.keeps_publishers = section.publisher
        broker.begin_archiving(archive.collector, list(section.filters))
        self.archive = archive
        self.replay: ReplayService | None = None
        if section.replay:
            context = resolved.contexts.get(REPLAY)
            try:
                self.replay = ReplayService(archive, broker, logins, section, context)
            except OSError as error:
                where = f"{section.replay_host}:{section.replay_port}"
                why = error.strerror or str(error)
                raise OSError(f"the replay service cannot listen on {where}: {why}") from error
        self.upkeep = Upkeep(archive)
        self.upkeep.start()

    def stop(self) -> None:
        if self.replay is not None:
            self.replay.stop()
        self.upkeep.stop()
