"""The end of connections and sessions: wills, expiry, and what a session leaves to others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.broker.archive_port import archive_message
from gossamer.broker.charges import release_session, weigh_session
from gossamer.broker.core import Core
from gossamer.broker.delivery import publish
from gossamer.broker.keep_alive import stop_timer
from gossamer.broker.retained_delivery import forgive_all
from gossamer.broker.subscriptions import find_group, leave_all
from gossamer.broker.timers import Timer
from gossamer.session.handover import leave_lane
from gossamer.session.message import Message
from gossamer.session.queue import end_fullness
from gossamer.session.records import RELEASED, SessionRecord
from gossamer.session.session import NEVER, Session

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection


def end_connection(connection: Connection, is_normal: bool, now: float) -> None:
    """The connection is closed; its session ends, or waits for the client to come back."""
    core = connection.core
    core.connections.pop(connection.token, None)
    stop_timer(connection)
    core.counters.connections_open = len(core.connections)
    connection.topics.close(connection.owner)
    connection.outbox.drop_aliases()
    connection.free_packet()
    session = connection.session
    if session is None or session.outbox is not connection.outbox:
        return
    session.outbox = None
    if session.owed is not None:
        session.owed.has_missed = True
    core.locations.left(session, now)
    core.neighbours.presence_changed(session)
    if connection.is_peer:
        core.neighbours.closed(connection, now)
    record = session.record
    record.disconnected_at = now
    if is_normal:
        record.will = None  # [MQTT-3.1.2-10], [MQTT-3.14.4-3]
    if record.expiry == 0:
        end_session(core, session, now)
        return
    if record.will is not None:
        # [MQTT-3.1.2-8]: after its delay, or with the session, whichever comes first.
        record.will_due = now + will_delay(record)
        if record.will_due == now:
            publish_will(core, session, now)
        else:
            expect_will(core, session, record.will_due)
    # [MQTT-3.1.2-23]
    if record.expiry != NEVER:
        expect_expiry(core, session, now + record.expiry)
    weigh_session(core, session)
    core.journal.session_saved(record)


def will_delay(record: SessionRecord) -> int:
    """How long after its client has gone the will is due: with the session at the latest."""
    return record.will_delay if record.expiry == NEVER else min(record.will_delay, record.expiry)


def disconnect_session(core: Core, session: Session, reason: int, text: str, now: float) -> None:
    """Ends the connection that the session has, if it has one, for this reason."""
    outbox = session.outbox
    if outbox is None:
        return
    outbox.sink.settle()
    connection = core.connections.get(outbox.token)
    if connection is not None:
        connection.fail(reason, text, now)


def settle(core: Core, session: Session, now: float) -> None:
    """What is due by now, though its timers have not fired yet."""
    DelayedWill(core, session.client_id).fire(now)
    SessionExpiry(core, session.client_id).fire(now)


def expect_will(core: Core, session: Session, due: float) -> None:
    """Its client has gone: the will is published then, unless it comes back."""
    _arm(core, core.delayed_wills, DelayedWill(core, session.client_id), session.client_id, due)


def expect_expiry(core: Core, session: Session, due: float) -> None:
    """Its client is away: the session ends then, unless it comes back."""
    _arm(core, core.expiries, SessionExpiry(core, session.client_id), session.client_id, due)


def stop_timers(core: Core, client_id: str) -> None:
    """The client is back, or its session has ended."""
    for timers in (core.delayed_wills, core.expiries):
        timer = timers.pop(client_id, None)
        if timer is not None:
            core.timers.cancel(timer)


def _arm(core: Core, timers: dict[str, Timer], timer: Timer, client_id: str, due: float) -> None:
    """One of a kind for each session, in place of an earlier one."""
    known = timers.get(client_id)
    if known is None:
        timers[client_id] = known = timer
    core.timers.add(due, known)


def end_session(core: Core, session: Session, now: float) -> None:
    """Frees everything the session had; shared messages it has not taken go to other members."""
    publish_will(core, session, now)
    if core.sessions.get(session.client_id) is session:
        stop_timers(core, session.client_id)
        del core.sessions[session.client_id]
        core.counters.sessions = len(core.sessions)
    core.session_quotas.remove(session)
    release_session(core, session)
    leave_all(core, session)
    forgive_all(core, session)
    core.locations.forget(session)
    end_fullness(session)
    leave_lane(session)
    core.journal.session_removed(session.client_id)
    core.neighbours.ended(session, now)
    for delivery in session.left_over():
        core.hub.deliveries.let_go(delivery)
        message = delivery.message
        # A QoS 2 message that was sent stays with its client, as long as that has a session
        # [MQTT-4.8.2-4] and beyond [MQTT-4.8.2-5].
        if not delivery.share or message is None or delivery.state == RELEASED:
            continue
        if delivery.qos == 2 and delivery.packet_id:
            continue
        name = delivery.share
        core.routes.sharing.hand_on(name, find_group(core, name), message, now)
    session.persistent = False  # nothing waits for it by subscriptions that are still to be left


def settle_estates(core: Core, now: float) -> None:
    """Messages of shared groups that ended sessions left in the store go to other members."""
    journal = core.journal
    for name in list(journal.estates):
        deliveries = journal.unspill(name)
        for delivery in deliveries:
            journal.spilled_removed(name, delivery, True)
            message = delivery.message
            share = delivery.share
            if message is None:
                core.counters.damaged += 1
            if share and message is not None and not message.is_expired(now):
                core.routes.sharing.hand_on(share, find_group(core, share), message, now)


def publish_will(core: Core, session: Session, now: float) -> None:
    """Once, and never again for this connection [MQTT-3.1.2-10]."""
    record = session.record
    will = record.will
    record.will = None
    record.will_due = 0.0
    if will is None:
        return
    try:
        _publish(core, session, will, now)
    except Exception as error:  # whatever becomes of the will, the session's end goes on
        core.faults.note("a will", error, f"client {session.client_id!r}", now)


def _publish(core: Core, session: Session, will: Message, now: float) -> None:
    if not core.permissions.may_publish(session.identity, will.topic):
        return
    properties = will.properties
    expires_at = 0.0
    if properties is not None and properties.message_expiry is not None:
        expires_at = now + properties.message_expiry
    message = will.changed(expires_at=expires_at)  # [MQTT-3.1.2-14], [MQTT-3.1.2-15]
    if message.retain and core.retained.refusal(message, session.owner, core.settings.max_retained):
        # Nobody is there to be told: it is delivered, and not kept.
        core.counters.publications_refused += 1
        message = message.changed(retain=False)
    route = core.routes.passing(message.topic, message.topic_bytes)
    if route.archived:
        archive_message(core, route, message, now)
    publish(core, message, session, now)


class _AbsenceTimer(Timer):
    """For a session whose client is away, until it comes back [MQTT-4.1.0-1].

    It knows the session by its client id, so that none is kept alive that was discarded.
    """

    def __init__(self, core: Core, client_id: str) -> None:
        self.core = core
        self.client_id = client_id

    def fire(self, now: float) -> float:
        session = self.core.sessions.get(self.client_id)
        if session is None or session.outbox is not None:
            return 0.0
        return self.fire_for(session, now)

    def fire_for(self, session: Session, now: float) -> float:
        """As `fire`, for the session."""
        raise NotImplementedError


class DelayedWill(_AbsenceTimer):
    """Publishes the will."""

    def fire_for(self, session: Session, now: float) -> float:
        record = session.record
        if record.will is None or record.will_due == 0.0:
            return 0.0
        if record.will_due > now:
            return record.will_due
        publish_will(self.core, session, now)
        weigh_session(self.core, session)
        self.core.journal.session_saved(record)
        return 0.0


class SessionExpiry(_AbsenceTimer):
    """Ends the session [MQTT-4.1.0-2]."""

    def fire_for(self, session: Session, now: float) -> float:
        record = session.record
        if record.expiry == NEVER:
            return 0.0
        due = record.disconnected_at + record.expiry
        if due > now:
            return due
        end_session(self.core, session, now)
        return 0.0
