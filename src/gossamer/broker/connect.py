"""CONNECT: who it is, which session it gets, and what we tell the client about ourselves."""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING, Final

from gossamer.broker.charges import why_no_session
from gossamer.broker.client_ids import may_have
from gossamer.broker.core import DECIDING, OPEN
from gossamer.broker.mesh_port import BRIDGE_PREFIX, PEER_METHOD, PEER_PREFIX
from gossamer.broker.policy import Verdict
from gossamer.broker.publish import is_allowed
from gossamer.broker.replies import spelled
from gossamer.broker.session_start import AcceptedLogin, agreed_keep_alive, enter
from gossamer.broker.settings import peer_settings
from gossamer.budget.ledger import NOBODY
from gossamer.geo.areas import GlpError
from gossamer.geo.glp import Glp, parse_sent
from gossamer.session.identity import Identity
from gossamer.session.session import NEVER
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import V5, Auth, Connack, Connect
from gossamer.wire.properties import Properties

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection

logger = logging.getLogger(__name__)

ASSIGNED: Final = "auto-"  # how an id starts that the broker gave
TAKEN: Final = "this client id is in use by another user"
# What a Receive Maximum is if nobody names one.
DEFAULT_RECEIVE_MAXIMUM: Final = 65_535
LONGEST_SHOWN: Final = 64  # of a name in the log; a stranger may choose one of 65,535 bytes


def handle_connect(connection: Connection, connect: Connect, now: float) -> None:
    """Checks what can be checked at once, then asks who it is."""
    core = connection.core
    connection.connect = connect
    properties = connect.properties
    if properties is not None:
        connection.wants_problems = properties.request_problem_information != 0
        if properties.maximum_packet_size is not None:
            connection.outbox.maximum_packet = properties.maximum_packet_size
    if core.stopping:
        connection.fail(reasons.SERVER_SHUTTING_DOWN, "the broker is stopping", now)
        return
    if not connect.client_id and not connect.clean_start and connect.version != V5:
        # [MQTT-3.1.3-8] of 3.1.1
        connection.fail(reasons.CLIENT_IDENTIFIER_NOT_VALID, "", now)
        return
    if len(core.connections) > connection.settings.max_connections:
        connection.fail(reasons.QUOTA_EXCEEDED, "the broker has reached its connection limit", now)
        return
    method = None if properties is None else properties.authentication_method
    if method is not None:
        _begin_exchange(connection, method, now)
        return
    connection.stage = DECIDING
    verdict = core.authenticator.authenticate(connection.token, connect, connection.origin)
    if verdict is None:
        connection.outbox.sink.pause_reading()
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
            raise ProtocolError(
                reasons.PROTOCOL_ERROR, "re-authentication must use the same method"
            )
        exchange = connection.core.authenticator.begin_exchange(method, connection.origin)
        connection.exchange = exchange
    elif packet.reason != reasons.CONTINUE_AUTHENTICATION:  # [MQTT-4.12.0-3]
        raise ProtocolError(reasons.PROTOCOL_ERROR, "an unexpected AUTH packet")
    if exchange is None or method != connection.authentication_method:  # [MQTT-4.12.0-7]
        raise ProtocolError(reasons.PROTOCOL_ERROR, "no authentication is in progress")
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
            connection.fail(
                reasons.NOT_AUTHORIZED, "re-authentication must keep the same user", now
            )
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
    packet = spelled(connection.outbox, Auth(reason, properties))
    if not packet:
        raise ProtocolError(reasons.PACKET_TOO_LARGE, "AUTH is over the client's limit")
    connection.outbox.put(packet)


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
            reasons.CLIENT_IDENTIFIER_NOT_VALID,
            f"{PEER_PREFIX} is reserved for brokers of the mesh",
            now,
        )
        return
    if client_id.startswith(BRIDGE_PREFIX):
        connection.fail(
            reasons.CLIENT_IDENTIFIER_NOT_VALID,
            f"{BRIDGE_PREFIX} is reserved for bridges",
            now,
        )
        return
    if not client_id:
        # [MQTT-3.1.3-6], [MQTT-3.1.3-7]
        assigned = ASSIGNED + secrets.token_hex(10)
        client_id = assigned
    origin = connection.origin
    network = connection.owner.network
    identity = Identity(client_id, verdict.user, origin.address, origin.listener, network)
    if verdict.groups:
        identity.groups = verdict.groups
    connection.identity = identity
    connection.owner = NOBODY if connection.is_peer else identity
    try:
        glp = _glp_of(connect)
    except GlpError as error:
        connection.fail(error.reason, error.text, now)
        return
    refusal = _refusal(connection, connect, client_id, verdict.user, now)
    if refusal is not None:
        connection.fail(refusal.reason, refusal.text, now)
        return
    expiry = _expiry(connect, connection.settings.max_session_expiry)
    answer = _welcome(connection, connect, expiry, assigned, final_data)
    if not spelled(connection.outbox, answer):
        # [MQTT-3.1.2-24], before anything is changed for a client that cannot be answered.
        connection.fail(reasons.PACKET_TOO_LARGE, "", now)
        return
    login = AcceptedLogin(
        connection, connect, client_id, verdict.user, expiry, answer, assigned != "", glp
    )
    restoring = core.restoring
    if (restoring is not None and restoring.holds(login, now)) or (
        not connection.is_peer and core.neighbours.fetches(login, now)
    ):
        connection.stage = DECIDING
        connection.outbox.sink.pause_reading()
    else:
        enter(login, now)


def _welcome(
    connection: Connection, connect: Connect, expiry: int, assigned: str, final_data: bytes
) -> Connack:
    """An accepting CONNACK; whether a session is present is not known yet."""
    answer = Connack(False, reasons.SUCCESS)
    if connect.version != V5:
        return answer
    settings = connection.settings
    properties = Properties()
    answer.properties = properties
    receive_maximum = DEFAULT_RECEIVE_MAXIMUM if connection.is_peer else settings.receive_maximum
    if receive_maximum != DEFAULT_RECEIVE_MAXIMUM:
        properties.receive_maximum = receive_maximum
    properties.maximum_packet_size = settings.max_packet
    properties.topic_alias_maximum = settings.max_topic_alias
    if assigned:
        properties.assigned_client_id = assigned  # [MQTT-3.1.3-7], [MQTT-3.2.2-16]
    keep_alive = agreed_keep_alive(connect, settings.max_keep_alive)
    if keep_alive != connect.keep_alive:
        properties.server_keep_alive = keep_alive  # [MQTT-3.1.2-21]
    asked = connect.properties
    if asked is None:
        return answer
    if asked.session_expiry is not None and asked.session_expiry != expiry:
        properties.session_expiry = expiry
    if asked.request_response_information and settings.response_information:
        properties.response_information = settings.response_information  # [MQTT-3.1.2-28]
    if asked.authentication_method is not None:
        # [MQTT-4.12.0-5]; none otherwise: [MQTT-4.12.0-6]
        properties.authentication_method = asked.authentication_method
        if final_data:
            properties.authentication_data = final_data
    return answer


def _glp_of(connect: Connect) -> Glp | None:
    """Raises GlpError, for the GLP of the will too: later nobody is there to be told."""
    will = connect.will
    if will is not None and will.properties is not None:
        parse_sent(will.properties.user)
    properties = connect.properties
    return None if properties is None or not properties.user else parse_sent(properties.user)


def _refusal(
    connection: Connection, connect: Connect, client_id: str, user: str, now: float
) -> Verdict | None:
    """Why this client, known by name now, cannot have what it asks for."""
    core = connection.core
    if connection.is_peer:
        text = core.neighbours.refuses(client_id[len(PEER_PREFIX) :])
        return Verdict(reasons.SERVER_BUSY, text=text) if text else None
    existing = core.sessions.get(client_id)
    settings = connection.settings
    is_own = existing is not None and existing.user == user
    if (
        connect.client_id
        and not may_have(settings.client_ids, user, client_id)
        # An id that we gave [MQTT-3.2.2-16] is good for coming back to its session.
        and not (is_own and client_id.startswith(ASSIGNED))
    ):
        return Verdict(
            reasons.CLIENT_IDENTIFIER_NOT_VALID,
            text=f"client ids here are {', '.join(settings.client_ids)} (%u is the user name), "
            "or empty",
        )
    if existing is not None and existing.user != user:
        # Whoever guesses a client id must not get another user's messages.
        logger.info(
            "client id %r, wanted by user %r, has a session of user %r; gossamer ctl disconnect "
            "--discard frees it, and auth.client_ids binds ids to users",
            client_id[:LONGEST_SHOWN],
            user[:LONGEST_SHOWN],
            existing.user[:LONGEST_SHOWN],
        )
        return Verdict(reasons.NOT_AUTHORIZED, text=TAKEN)
    if existing is None and core.neighbours.refuses_client(client_id, user, now):
        return Verdict(reasons.NOT_AUTHORIZED, text=TAKEN)
    if existing is None and len(core.sessions) >= core.settings.max_sessions:
        return Verdict(reasons.QUOTA_EXCEEDED, text="the broker has reached its session limit")
    expiry = _expiry(connect, settings.max_session_expiry)
    was_kept = existing is not None and existing.persistent
    if existing is None and expiry and not core.neighbours.has_room(client_id, now):
        core.ledger.mesh.refused += 1
        return Verdict(reasons.QUOTA_EXCEEDED, text="the mesh has reached its session limit")
    text = core.session_quotas.refusal(
        connection.owner, existing, connect.clean_start, expiry != 0, settings
    )
    text = text or why_no_session(connection, connect, client_id, existing)
    if text:
        return Verdict(reasons.QUOTA_EXCEEDED, text=text)
    if not core.journal.accepts:
        is_new = existing is None or connect.clean_start
        if is_new and (was_kept or expiry):
            return Verdict(reasons.QUOTA_EXCEEDED, text="the store is full")
    will = connect.will
    try:
        is_refused = will is not None and not is_allowed(connection, will.topic)
    except ProtocolError as error:
        return Verdict(error.reason, text=error.text)
    if will is not None and is_refused:
        return Verdict(reasons.NOT_AUTHORIZED, text=f"you may not leave a will on {will.topic!r}")
    return None


def _expiry(connect: Connect, maximum: int) -> int:
    if connect.version != V5:
        return 0 if connect.clean_start else min(NEVER, maximum)
    properties = connect.properties
    if properties is None or properties.session_expiry is None:
        return 0
    return min(properties.session_expiry, maximum)
