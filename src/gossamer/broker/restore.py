"""A broker's state after a restart, from what the store kept."""

from gossamer.broker.core import Core
from gossamer.broker.mesh_port import SHARED_ROOM
from gossamer.broker.queue_rights import bound_queue
from gossamer.broker.retained_delivery import ROOM as OWED
from gossamer.broker.retained_delivery import restore as restore_owed
from gossamer.broker.session_end import end_session, expect_expiry, expect_will
from gossamer.broker.session_sizes import weigh_session
from gossamer.broker.subscriptions import asked_of, enter, make
from gossamer.geo.areas import GlpError
from gossamer.geo.located import read_located
from gossamer.plus.plan import PlusError
from gossamer.session.message_bytes import unpacked_message
from gossamer.session.records import Snapshot, StoredSession
from gossamer.session.session import NEVER, Session
from gossamer.topics.names import split_share


def restore(core: Core, snapshot: Snapshot, now: float) -> None:
    """Sessions routable again, expired ones ended, wills due at their time."""
    for message in snapshot.retained:
        if not message.is_expired(now):
            core.retained.restore(message)
        else:
            core.journal.retained_removed(message.topic)
    core.rooms = dict(snapshot.rooms)
    for topic, data in core.rooms.pop(SHARED_ROOM, {}).items():
        message = unpacked_message(data)
        if not message.is_expired(now):
            core.shared.restore(message)
        else:
            core.journal.drop(SHARED_ROOM, topic)
    core.operators.restore(snapshot.operators, now)
    core.locations.load({stored.record.client_id for stored in snapshot.sessions})
    sessions = [_restore_session(core, stored, now) for stored in snapshot.sessions]
    restore_owed(core, core.rooms.pop(OWED, {}))
    for session in sessions:
        _resume_time(core, session, now)


def _restore_session(core: Core, stored: StoredSession, now: float) -> Session:
    session = Session(core.hub, stored.record)
    bound_queue(session, core.settings)
    session.restore(stored.deliveries, stored.incoming)
    session.restore_spilled(stored.spilled, stored.spilled_bytes, stored.last_number)
    core.sessions[session.client_id] = session
    core.counters.sessions = len(core.sessions)
    core.session_quotas.update(session)
    weigh_session(core, session)
    for record in stored.subscriptions:
        try:
            asked = asked_of(core, split_share(record.filter)[1], record.user)
            located = read_located(record.user)
        except (PlusError, GlpError):
            # The window or the processor that it needs is configured no more.
            core.journal.subscription_removed(session.client_id, record.filter)
            continue
        enter(core, make(core, session, record, asked, located, now))
    return session


def _resume_time(core: Core, session: Session, now: float) -> None:
    """Time spent down counts; a client that was connected when we died is gone since now."""
    record = session.record
    if record.disconnected_at == 0.0:
        record.disconnected_at = now
        if record.will is not None:
            delay = record.will_delay
            if record.expiry != NEVER:
                delay = min(delay, record.expiry)
            record.will_due = now + delay
        core.journal.session_saved(record)
    if record.will is not None:
        expect_will(core, session, max(record.will_due, now))
    if record.expiry == 0:
        end_session(core, session, now)
    elif record.expiry != NEVER:
        expect_expiry(core, session, record.disconnected_at + record.expiry)
