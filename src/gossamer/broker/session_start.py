"""A client that was let in gets its session: the old one, or a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.charges import weigh_session
from gossamer.broker.core import CLOSED, DECIDING, OPEN
from gossamer.broker.keep_alive import keep_alive, stop_timer
from gossamer.broker.revocation import revoke
from gossamer.broker.session_end import disconnect_session, end_session, settle, stop_timers
from gossamer.broker.settings import Settings
from gossamer.budget.ledger import Account
from gossamer.geo.glp import Glp
from gossamer.session.message import Message
from gossamer.session.message_bytes import STORED_BYTES
from gossamer.session.outbox import Outbox
from gossamer.session.queue_policy import (
    DROP_NEWEST,
    DROP_OLDEST,
    OVER_LIMIT,
    QueueLimits,
    queue_limits,
)
from gossamer.session.records import SessionRecord
from gossamer.session.resumption import resume_session
from gossamer.session.session import Session
from gossamer.wire import reasons
from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, Connack, Connect

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection

# A limit of this much leaves the keep-alive to the client.
ANY_KEEP_ALIVE: Final = 0xFFFF


class AcceptedLogin:
    """A CONNECT that nothing speaks against any more."""

    __slots__ = (
        "answer",
        "client_id",
        "connect",
        "connection",
        "expiry",
        "glp",
        "is_assigned",
        "user",
    )

    def __init__(
        self,
        connection: Connection,
        connect: Connect,
        client_id: str,
        user: str,
        expiry: int,
        answer: Connack,
        is_assigned: bool,
        glp: Glp | None,
    ) -> None:
        self.connection = connection
        self.connect = connect
        self.client_id = client_id
        self.user = user
        self.expiry = expiry
        self.answer = answer  # but for whether a session is present
        self.is_assigned = is_assigned  # whether the client id is ours
        self.glp = glp


def resume(login: AcceptedLogin, now: float) -> None:
    """What it waited for has come, or will not."""
    connection = login.connection
    if connection.stage != DECIDING:
        return
    enter(login, now)
    if connection.stage != CLOSED:
        connection.proceed(now)
    connection.outbox.sink.resume_reading()


def enter(login: AcceptedLogin, now: float) -> None:
    connection = login.connection
    connect = login.connect
    answer = login.answer
    glp = login.glp
    core = connection.core
    had_session = login.client_id in core.sessions
    session, is_present = _take_session(
        connection, connect, login.client_id, login.user, login.expiry, now
    )
    core.session_quotas.update(session)
    _identify(connection, session, is_present)
    connection.session = session
    connection.stage = OPEN
    connection.outbox.sink.welcomed()
    connection.limit = connection.settings.max_packet
    connection.unreleased_before = 0 if session.incoming is None else len(session.incoming)
    _set_will(session, connect)
    weigh_session(core, session)
    _keep_alive(connection, connect, now)
    _set_windows(
        session, connection.outbox, connect, connection.settings.max_inflight, core.ledger.aliases
    )
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
        connection.outbox.hold_back()
    # [MQTT-3.2.2-2], [MQTT-3.2.2-3]; in 3.1 that byte is reserved.
    answer.session_present = is_present and not connect.is_of_3_1
    # The first packet but AUTH [MQTT-3.2.0-1], and once, since this stage is left [MQTT-3.2.0-2].
    connection.outbox.put(encode(answer, connect.version))  # [MQTT-3.1.4-5]
    core.counters.connections_accepted += 1
    session.outbox = connection.outbox  # not before: nothing may go out ahead of the CONNACK
    core.neighbours.presence_changed(session)
    if not connection.is_peer:
        core.neighbours.entered(login, session, now)
    if connection.is_peer:
        core.neighbours.opened(connection, now)
    resume_session(session, now)


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
        session = Session(core.hub, record)
        bound_queue(session, connection.settings)
        session.owner = connection.owner
        core.sessions[client_id] = session
        core.counters.sessions = len(core.sessions)
        return session, False
    stop_timers(core, client_id)
    bound_queue(existing, connection.settings)
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


def bound_queue(session: Session, settings: Settings) -> None:
    """The bounds of a client's queue; a neighbour's are its own."""
    if session.is_peer:
        return
    session.bound(
        queue_limits(
            settings.max_queued,
            settings.max_queued_bytes,
            settings.max_queued_memory,
            settings.queue_policy,
        )
    )


def bound_unread(session: Session, settings: Settings, waiting: int) -> None:
    """As `bound_queue`, while so many messages that wait in it have not been read: they count, with
    the least that a message has. Their bytes are no more than memory holds of a queue; by so much
    it may become too long.

    Where the oldest are dropped, all of those come first: what is new is bounded by itself, and the
    rest goes when the queue is read. From a lane nothing can be dropped before that.
    """
    policy = settings.queue_policy
    places = settings.max_queued
    size = settings.max_queued_bytes
    if policy == DROP_OLDEST and not session.lane.messages:
        bound_queue(session, settings)
        return
    if policy == DROP_OLDEST:
        policy = DROP_NEWEST
        places = int(places * OVER_LIMIT)
        size = int(size * OVER_LIMIT)
    if places:
        places = max(1, places - waiting)
    size = max(1, size - waiting * STORED_BYTES)
    session.bound(QueueLimits(places, size, settings.max_queued_memory, policy))


def agreed_keep_alive(connect: Connect, maximum: int) -> int:
    """The client's keep-alive in seconds, or ours where 5.0 lets us name one [MQTT-3.2.2-22]."""
    asked = connect.keep_alive
    if connect.version != V5 or maximum in (0, ANY_KEEP_ALIVE):
        return asked
    return maximum if asked == 0 or asked > maximum else asked


def _keep_alive(connection: Connection, connect: Connect, now: float) -> None:
    stop_timer(connection)  # the login has come
    seconds = agreed_keep_alive(connect, connection.settings.max_keep_alive)
    if seconds:
        # [MQTT-3.1.2-22], in 3.1.1 [MQTT-3.1.2-24]: one and a half times the interval.
        connection.keep_alive = seconds * 1.5
        keep_alive(connection, now)


def _set_windows(
    session: Session, outbox: Outbox, connect: Connect, max_inflight: int, aliases: Account
) -> None:
    """How much may be on its way to the client at once, and which aliases it takes."""
    properties = connect.properties
    session.window = max_inflight
    if properties is None:
        return
    if properties.receive_maximum is not None:
        # [MQTT-3.3.4-9], [MQTT-4.9.0-1]: never more in flight than the client allows.
        session.window = min(properties.receive_maximum, max_inflight)
    if properties.topic_alias_maximum:
        outbox.use_aliases(properties.topic_alias_maximum, aliases, session.owner)


def _identify(connection: Connection, session: Session, is_present: bool) -> None:
    """The session belongs to who logged in now; rights may differ from those it had before."""
    core = connection.core
    session.identity.rights = None  # things may stay in its name for long
    session.identity = connection.identity
    if is_present and core.permissions.restricts:
        revoke(core, session)
        core.routes.changes += 1  # routes know who may receive what


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
    record.will = Message(
        will.topic,
        will.payload,
        will.qos,
        will.retain,
        properties,
        0.0,  # the expiry counts from the moment the will is published
        session.client_id,
        session.user,
    )
