"""CONNECT: who it is, which session it gets, and what we tell the client about ourselves."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from gossamer.broker.admitting import is_allowed
from gossamer.broker.ending import disconnect_session, end_session, settle
from gossamer.broker.keeping import KeepAlive
from gossamer.broker.neighbours import PEER_METHOD, PEER_PREFIX, STOCK_PREFIX
from gossamer.broker.policy import Verdict
from gossamer.broker.publishing import message_from
from gossamer.broker.revoking import revoke
from gossamer.broker.settings import peer_settings
from gossamer.broker.stages import DECIDING, OPEN
from gossamer.broker.telling import spelled
from gossamer.broker.welcoming import agreed_keep_alive, set_windows, welcome
from gossamer.geo.errors import GlpError
from gossamer.geo.glp import Glp, parse
from gossamer.session.identity import Identity
from gossamer.session.records import SessionRecord
from gossamer.session.session import NEVER, Session
from gossamer.wire import reasons
from gossamer.wire.codec import encode
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import V5, Auth, Connect, Publish
from gossamer.wire.properties import Properties

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection


def handle_connect(connection: Connection, connect: Connect, now: float) -> None:
    """Checks what can be checked at once, then asks who it is."""
    core = connection.core
    connection.connect = connect
    properties = connect.properties
    if properties is not None:
        connection.wants_problems = properties.request_problem_information != 0
        if properties.maximum_packet_size is not None:
            connection.outlet.maximum_packet = properties.maximum_packet_size
    if core.stopping:
        connection.fail(reasons.SERVER_SHUTTING_DOWN, "the broker is stopping", now)
        return
    if not connect.client_id and not connect.clean_start and connect.version != V5:
        # [MQTT-3.1.3-8] of 3.1.1
        connection.fail(reasons.CLIENT_IDENTIFIER_NOT_VALID, "", now)
        return
    if len(core.connections) > connection.settings.max_connections:
        connection.fail(reasons.QUOTA_EXCEEDED, "the broker has no room for more clients", now)
        return
    method = None if properties is None else properties.authentication_method
    if method is not None:
        _begin_exchange(connection, method, now)
        return
    connection.stage = DECIDING
    verdict = core.authenticator.authenticate(connection.token, connect, connection.origin)
    if verdict is None:
        connection.outlet.sink.pause_reading()
    else:
        decide(connection, verdict, b"", now)


def handle_auth(connection: Connection, packet: Auth, now: float) -> None:
    """A further step of enhanced authentication, at login or later."""
    exchange = connection.exchange
    properties = packet.properties
    method = None if properties is None else properties.authentication_method
    if connection.stage == OPEN and packet.reason == reasons.RE_AUTHENTICATE:
        if method is None or method != connection.authentication_method:
            # [MQTT-4.12.1-1]
            raise ProtocolError(reasons.PROTOCOL_ERROR, "re-authentication by another method")
        exchange = connection.core.authenticator.begin_exchange(method, connection.origin)
        connection.exchange = exchange
    elif packet.reason != reasons.CONTINUE_AUTHENTICATION:  # [MQTT-4.12.0-3]
        raise ProtocolError(reasons.PROTOCOL_ERROR, "an AUTH packet out of turn")
    if exchange is None or method != connection.authentication_method:  # [MQTT-4.12.0-7]
        raise ProtocolError(reasons.PROTOCOL_ERROR, "no authentication is under way")
    data = None if properties is None else properties.authentication_data
    _step(connection, data or b"", now)


def _begin_exchange(connection: Connection, method: str, now: float) -> None:
    core = connection.core
    if method == PEER_METHOD:
        exchange = core.neighbours.begin_exchange(connection.origin)
    else:
        exchange = core.authenticator.begin_exchange(method, connection.origin)
    if exchange is None:  # [MQTT-4.12.0-1]
        connection.fail(
            reasons.BAD_AUTHENTICATION_METHOD, f"{method!r} is not an accepted method", now
        )
        return
    connection.exchange = exchange
    connection.authentication_method = method
    connect = connection.connect
    assert connect is not None
    assert connect.properties is not None
    _step(connection, connect.properties.authentication_data or b"", now)


def _step(connection: Connection, data: bytes, now: float) -> None:
    exchange = connection.exchange
    assert exchange is not None
    step = exchange.step(data)
    verdict = step.verdict
    is_login = connection.stage != OPEN
    if verdict is not None and verdict.reason == reasons.SUCCESS and not is_login:
        connection.exchange = None
        if verdict.user != connection.identity.user:
            connection.fail(reasons.NOT_AUTHORIZED, "re-authentication as another user", now)
            return
        _send_auth(connection, reasons.SUCCESS, step.data)
    elif verdict is not None and is_login:
        connection.exchange = None
        connection.stage = DECIDING
        # [MQTT-4.12.0-4]
        decide(connection, verdict, step.data, now)
    elif verdict is not None:
        connection.fail(verdict.reason, verdict.text, now)  # [MQTT-4.12.1-2]
    else:
        _send_auth(connection, reasons.CONTINUE_AUTHENTICATION, step.data)  # [MQTT-4.12.0-2]


def _send_auth(connection: Connection, reason: int, data: bytes) -> None:
    properties = Properties()
    properties.authentication_method = connection.authentication_method
    properties.authentication_data = data
    packet = spelled(connection.outlet, Auth(reason, properties))
    if not packet:
        raise ProtocolError(reasons.PACKET_TOO_LARGE, "AUTH is over the client's limit")
    connection.outlet.put(packet)


def decide(connection: Connection, verdict: Verdict, final_data: bytes, now: float) -> None:
    """The verdict is there: refuses [MQTT-3.1.4-2], or gives the client its session."""
    core = connection.core
    connect = connection.connect
    assert connect is not None
    connection.connect = None
    if verdict.reason != reasons.SUCCESS:
        connection.fail(verdict.reason, verdict.text, now)
        return
    assigned = ""
    client_id = connect.client_id
    connection.is_peer = verdict.peer != ""
    if connection.is_peer:
        connection.settings = peer_settings()
    # Any other client identifier is accepted [MQTT-3.1.3-5].
    if client_id.startswith(PEER_PREFIX) != connection.is_peer or (
        connection.is_peer and client_id != PEER_PREFIX + verdict.peer
    ):
        connection.fail(
            reasons.CLIENT_IDENTIFIER_NOT_VALID, f"{PEER_PREFIX} is for brokers of the mesh", now
        )
        return
    if client_id.startswith(STOCK_PREFIX):
        connection.fail(
            reasons.CLIENT_IDENTIFIER_NOT_VALID,
            f"{STOCK_PREFIX} is for brokers of other makes",
            now,
        )
        return
    if not client_id:
        # [MQTT-3.1.3-6], [MQTT-3.1.3-7]
        assigned = "auto-" + secrets.token_hex(10)
        client_id = assigned
    identity = Identity(
        client_id, verdict.user, connection.origin.address, connection.origin.listener
    )
    identity.groups = verdict.groups
    connection.identity = identity
    try:
        glp = _glp_of(connect)
    except GlpError as error:
        connection.fail(error.reason, error.text, now)
        return
    refusal = _refusal(connection, connect, client_id, verdict.user)
    if refusal is not None:
        connection.fail(refusal.reason, refusal.text, now)
        return
    expiry = _expiry(connect, connection.settings.max_session_expiry)
    answer = welcome(connection, connect, expiry, assigned, final_data)
    if not spelled(connection.outlet, answer):
        # [MQTT-3.1.2-24], before anything is changed for a client that cannot be answered.
        connection.fail(reasons.PACKET_TOO_LARGE, "", now)
        return
    had_session = client_id in core.sessions
    session, is_present = _take_session(connection, connect, client_id, verdict.user, expiry, now)
    _identify(connection, session, is_present)
    connection.session = session
    connection.stage = OPEN
    connection.limit = connection.settings.max_packet
    connection.unreleased_before = 0 if session.incoming is None else len(session.incoming)
    _set_will(session, connect)
    _keep_alive(connection, connect, now)
    set_windows(session, connect, connection.settings.max_inflight)
    if glp is not None:
        connection.locates_by_ping = glp.ping
        core.locations.learn(session, glp, now)
    if session.persistent:
        core.journal.session_saved(session.record)
    if not is_present:
        session.saved_in = core.journal.batch
    if (session.persistent or had_session) and (
        core.journal.accepts or not is_present or session.saved_in > core.hub.last_committed
    ):
        # A session that the client was told about must not vanish, nor a discarded one come back.
        # With a full store, a session that is on disk may be served before its changes are.
        connection.outlet.hold_back()
    answer.session_present = is_present  # [MQTT-3.2.2-2], [MQTT-3.2.2-3]
    # The first packet but AUTH [MQTT-3.2.0-1], and once, since this stage is left [MQTT-3.2.0-2].
    connection.outlet.put(encode(answer, connect.version))  # [MQTT-3.1.4-5]
    core.counters.connections_accepted += 1
    session.outlet = connection.outlet
    core.neighbours.presence_changed(session)
    if connection.is_peer:
        core.neighbours.opened(connection, now)
    session.resume(now)


def _glp_of(connect: Connect) -> Glp | None:
    """Raises GlpError, for the GLP of the will too: later nobody is there to be told."""
    will = connect.will
    if will is not None and will.properties is not None:
        parse(will.properties.user)
    properties = connect.properties
    return None if properties is None or not properties.user else parse(properties.user)


def _refusal(connection: Connection, connect: Connect, client_id: str, user: str) -> Verdict | None:
    """Why this client, known by name now, cannot have what it asks for."""
    core = connection.core
    if connection.is_peer:
        text = core.neighbours.refuses(client_id[len(PEER_PREFIX) :])
        return Verdict(reasons.SERVER_BUSY, text=text) if text else None
    existing = core.sessions.get(client_id)
    if existing is not None and existing.user != user:
        # Whoever guesses a client id must not get another user's messages.
        return Verdict(reasons.NOT_AUTHORIZED, text="this client id is in use by another user")
    if existing is None and len(core.sessions) >= core.settings.max_sessions:
        return Verdict(reasons.QUOTA_EXCEEDED, text="the broker keeps no more sessions")
    if not core.journal.accepts:
        is_new = existing is None or connect.clean_start
        was_kept = existing is not None and existing.persistent
        if is_new and (was_kept or _expiry(connect, connection.settings.max_session_expiry)):
            return Verdict(reasons.QUOTA_EXCEEDED, text="the store is full")
    will = connect.will
    try:
        is_refused = will is not None and not is_allowed(connection, will.topic)
    except ProtocolError as error:
        return Verdict(error.reason, text=error.text)
    if will is not None and is_refused:
        return Verdict(reasons.NOT_AUTHORIZED, text=f"you may not leave a will on {will.topic!r}")
    return None


def _take_session(
    connection: Connection, connect: Connect, client_id: str, user: str, expiry: int, now: float
) -> tuple[Session, bool]:
    """The client's old session [MQTT-3.1.2-5] or a new one [MQTT-3.1.2-6], and which it is."""
    core = connection.core
    existing = core.sessions.get(client_id)  # [MQTT-3.1.3-2]
    if existing is not None:
        settle(core, existing, now)
        # [MQTT-3.1.4-3]
        disconnect_session(core, existing, reasons.SESSION_TAKEN_OVER, "", now)
        existing = core.sessions.get(client_id)  # gone, if it ended with its connection
    if existing is not None and connect.clean_start:
        end_session(core, existing, now)  # [MQTT-3.1.2-4], [MQTT-3.1.4-4]
        existing = None
    if existing is None:
        record = SessionRecord(client_id, user, expiry)
        record.is_311 = connect.version != V5
        session = Session(core.hub, record, connection.settings.max_queued)
        session.queue_bytes_limit = connection.settings.max_queued_bytes
        core.sessions[client_id] = session
        core.counters.sessions = len(core.sessions)
        return session, False
    record = existing.record
    record.expiry = expiry
    record.disconnected_at = 0.0
    record.will = None  # [MQTT-3.1.3-9]
    record.will_due = 0.0
    if existing.persistent and expiry == 0:
        # It ends with this connection: from now on a restart must not bring it back.
        core.journal.session_saved(record)
    existing.persistent = expiry != 0
    return existing, True


def _keep_alive(connection: Connection, connect: Connect, now: float) -> None:
    seconds = agreed_keep_alive(connect, connection.settings.max_keep_alive)
    if seconds:
        # [MQTT-3.1.2-22], in 3.1.1 [MQTT-3.1.2-24]: one and a half times the interval.
        connection.keep_alive = seconds * 1.5
        connection.core.agenda.add(now + connection.keep_alive, KeepAlive(connection))


def _identify(connection: Connection, session: Session, is_present: bool) -> None:
    """The session belongs to who logged in now; rights may differ from those it had before."""
    core = connection.core
    session.identity = connection.identity
    if is_present and core.permissions.restricts:
        revoke(core, session)
        core.routes.changes += 1  # routes know who may receive what


def _expiry(connect: Connect, maximum: int) -> int:
    if connect.version != V5:
        return 0 if connect.clean_start else min(NEVER, maximum)
    properties = connect.properties
    if properties is None or properties.session_expiry is None:
        return 0
    return min(properties.session_expiry, maximum)


def _set_will(session: Session, connect: Connect) -> None:
    """Stored with the session [MQTT-3.1.2-7], in place of any earlier one."""
    record = session.record
    will = connect.will
    if will is None:
        record.will = None
        record.will_delay = 0
        return
    properties = will.properties
    record.will_delay = 0
    if properties is not None and properties.will_delay is not None:
        record.will_delay = properties.will_delay
        properties.will_delay = None
    # [MQTT-3.1.3-10]: the rest travels on as it is.
    packet = Publish(will.topic, will.payload, will.qos, will.retain, properties=properties)
    # The expiry counts from the moment the will is published, so none is set here.
    record.will = message_from(packet, will.topic, session.client_id, session.user, 0.0)
    record.will.expires_at = 0.0
