"""The replay service: readers of the archive, each on a thread, with the logins and permissions of
MQTT clients.

Threads and blocking sockets, not the event loop: a reader may take gigabytes, and what is sent must
not pass through the loop that serves the clients. The loop is asked only about logins.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

from gossamer.broker.broker import Broker
from gossamer.broker.policy import Verdict
from gossamer.net.auth.assembly import REPLAY
from gossamer.net.auth.backend import Attempt
from gossamer.net.auth.logins import Logins
from gossamer.net.config.archive import Archive as ArchiveSection
from gossamer.net.tls import certificate_user
from gossamer.session.identity import Identity
from gossamer.storage.archive.archive import Archive
from gossamer.storage.archive.errors import ArchiveError, RowsLost
from gossamer.storage.archive.frames import (
    BAD,
    FAILED,
    MOST_REQUEST_BYTES,
    REFUSED,
    VERSION,
    BadFrame,
    frame,
    read_frame,
)
from gossamer.storage.archive.hiding import MayLocate
from gossamer.storage.archive.selection import Allows
from gossamer.storage.archive.serving import Answering, BadRequest, Rights
from gossamer.wire.reasons import SUCCESS

logger = logging.getLogger(__name__)

T = TypeVar("T")

# For the whole request, which is one small frame.
REQUEST_SECONDS: Final = 10.0
# For a reader to take anything at all of what is sent.
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
        self._loop = asyncio.get_running_loop()
        self._places = threading.BoundedSemaphore(section.replay_readers)
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
        try:
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        except OSError:
            pass
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
            if not self._places.acquire(blocking=False):
                _turn_away(connection)
                continue
            threading.Thread(
                target=self._serve,
                args=(connection, str(address[0])),
                name="gossamer-reader",
                daemon=True,
            ).start()

    def _serve(self, connection: socket.socket, address: str) -> None:
        try:
            connection.settimeout(REQUEST_SECONDS)
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
            self._answer(connection, address)
        except OSError as error:
            logger.debug("a reader at %s is gone: %s", address, error)
        finally:
            connection.close()
            self._places.release()

    def _answer(self, connection: socket.socket, address: str) -> None:
        try:
            answer = self._answer_request(connection, address)
        except BadRequest as error:
            answer = _refusal(str(error), error.code)
        except BadFrame as error:
            answer = _refusal(str(error), BAD)
        except ArchiveError as error:
            answer = _refusal(str(error), FAILED)
        if answer:
            connection.sendall(answer)

    def _answer_request(self, connection: socket.socket, address: str) -> bytes:
        """The whole answer, or nothing if it was sent already."""
        request = read_frame(lambda size: _exactly(connection, size), MOST_REQUEST_BYTES)
        if request.get("version", VERSION) != VERSION:
            raise BadRequest(f"this broker speaks version {VERSION} of the protocol")
        rights = self._rights(request, address, _certificate_user(connection))
        answering = Answering(self._archive, rights, self._stopping)
        action = request.get("action")
        if action == "describe":
            return frame(answering.describe())
        if action == "locate":
            return frame(answering.locate(request))
        if action != "read":
            raise BadRequest("action is read, describe or locate")
        try:
            reading = answering.reading(request)
        except RowsLost as error:
            return frame(answering.lost(error))
        connection.settimeout(SEND_SECONDS)
        answering.send(reading, connection)
        return b""

    def _rights(self, request: dict[str, Any], address: str, certificate_user: str) -> ReaderRights:
        user, password = _text(request, "user"), _text(request, "password")
        token = _text(request, "token")
        secret = token if token is not None else password
        attempt = Attempt(
            client_id="",
            user=user,
            password=None if secret is None else secret.encode(),
            address=address,
            listener=REPLAY,
            certificate_user=certificate_user,
        )
        verdict = self._verdict(attempt)
        if verdict.reason != SUCCESS:
            raise BadRequest(verdict.text or "wrong user name or password", REFUSED)
        identity = Identity("", verdict.user, address, REPLAY)
        identity.groups = verdict.groups
        return ReaderRights(self._broker, identity)

    def _verdict(self, attempt: Attempt) -> Verdict:
        logins = self._logins
        if not self._ask(lambda: logins.reserve(attempt.address)):
            raise BadRequest("too many failed logins; try later", REFUSED)
        verdict = logins.rules.chains[REPLAY].check(attempt)
        return self._ask(lambda: logins.judged(attempt, verdict))

    def _ask(self, question: Callable[[], T]) -> T:
        """On the loop's thread, where the answer is kept."""

        async def answer() -> T:
            return question()

        return asyncio.run_coroutine_threadsafe(answer(), self._loop).result(REQUEST_SECONDS)


class ReaderRights(Rights):
    """Those of a client that would subscribe, by the rules in force when it asked."""

    def __init__(self, broker: Broker, identity: Identity) -> None:
        self._core = broker.core
        self._identity = identity
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

    def hold(self) -> bool:
        return self._core.permissions is self._permissions


def _certificate_user(connection: socket.socket) -> str:
    if not isinstance(connection, ssl.SSLSocket):
        return ""
    return certificate_user(connection.getpeercert())


def _turn_away(connection: socket.socket) -> None:
    with connection:
        connection.settimeout(0)
        try:
            connection.send(_refusal("too many readers at once; try later", FAILED))
        except OSError:
            pass  # it learns from the closed connection


def _refusal(text: str, code: str) -> bytes:
    return frame({"ok": False, "error": text, "code": code})


def _text(request: dict[str, Any], key: str) -> str | None:
    value = request.get(key)
    if value is not None and not isinstance(value, str):
        raise BadRequest(f"{key} is a text")
    return value


def _exactly(connection: socket.socket, size: int) -> bytes:
    pieces = []
    while size:
        piece = connection.recv(min(size, 1 << 16))
        if not piece:
            raise ConnectionError("the request is cut off")
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
