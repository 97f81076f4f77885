"""A broker's state and its time after a restart, from what the store kept.

While it runs, its time goes on by the monotonic clock; `Core.wall_offset` is what the wall clock
shows more. For how long it was down only the wall clock can tell. The store has both times as they
were last, and from them it goes on: by as much as the wall clock has moved since. A clock that
shows a time before it, or one so far ahead that nobody leaves a broker down for so long, is not
believed: then no time has passed, and nothing expires that should not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gossamer.broker.charges import weigh_session
from gossamer.broker.core import Core
from gossamer.broker.mesh_port import SHARED_ROOM
from gossamer.broker.retained_delivery import OWED_ROOM
from gossamer.broker.retained_delivery import restore as restore_owed
from gossamer.broker.session_end import end_session, expect_expiry, expect_will, will_delay
from gossamer.broker.session_start import bound_queue
from gossamer.broker.subscriptions import asked_of, enter, make
from gossamer.broker.timers import Timer
from gossamer.geo.areas import GlpError
from gossamer.geo.geolocation import read_located
from gossamer.plus.plan import PlusError
from gossamer.session.handover import restore as restore_deliveries
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
            core.journal.retained_removed(message.topic, message.stored)
    core.rooms = dict(snapshot.rooms)
    for topic, data in core.rooms.pop(SHARED_ROOM, {}).items():
        message = unpacked_message(data)
        if not message.is_expired(now):
            core.shared.restore(message)
        else:
            core.journal.drop(SHARED_ROOM, topic)
    # Subscriptions look for both when they are entered: for the windows of their operators, and
    # for where their clients are.
    core.operators.restore(snapshot.operators, now)
    core.locations.load({stored.record.client_id for stored in snapshot.sessions})
    sessions = [_restore_session(core, stored, now) for stored in snapshot.sessions]
    restore_owed(core, core.rooms.pop(OWED_ROOM, {}))
    # Only when all sessions are there: a will that is due now has subscribers among them, and what
    # one that expired leaves of a shared group has other members.
    for session in sessions:
        _resume_time(core, session, now)


def _restore_session(core: Core, stored: StoredSession, now: float) -> Session:
    session = Session(core.hub, stored.record)
    bound_queue(session, core.settings)
    restore_deliveries(session, stored.deliveries, stored.incoming)
    if stored.spilled:
        session.own_lane().restore(stored.spilled, stored.spilled_bytes)
    session.number_after(stored.last_number)
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
            record.will_due = now + will_delay(record)
        core.journal.session_saved(record)
    if record.will is not None:
        expect_will(core, session, max(record.will_due, now))
    if record.expiry == 0:
        end_session(core, session, now)
    elif record.expiry != NEVER:
        expect_expiry(core, session, record.disconnected_at + record.expiry)


CLOCK_ROOM: Final = "clock"
CLOCK_KEY: Final = "last"
_CLOCK_VERSION: Final = "1"
# Both times are written this often; a clock cannot be found wrong by less than what passed since.
KEEP_SECONDS: Final = 60.0
# A year and a day. Whoever starts a broker after longer finds what it had, not what is left of it.
LONGEST_PAUSE: Final = 367 * 86_400.0
# What time servers correct in passing; not worth a word.
_SMALL_STEP: Final = 60.0


@dataclass(frozen=True, slots=True)
class RestoredClock:
    """`now` is the broker's time at its start; `complaint` says why the wall clock was not
    believed, "" if it was."""

    now: float
    complaint: str = ""


def resumed(kept: bytes | None, written_at: float, wall: float) -> RestoredClock:
    """`kept` is what an earlier process wrote; without it (of a version that did not), `written_at`
    is when its files were last changed, 0.0 if there are none."""
    last, shown = _read_clock(kept) or (written_at, written_at)
    if not last:
        return RestoredClock(wall)
    pause = wall - shown
    if pause < 0.0:
        complaint = f"{-pause:.0f} s before the last time that the store knows"
        return RestoredClock(last, complaint if pause < -_SMALL_STEP else "")
    if pause > LONGEST_PAUSE:
        return RestoredClock(
            last, f"{pause / 86_400:.0f} days after the last time that the store knows"
        )
    return RestoredClock(last + pause)


class ClockSaver(Timer):
    """Writes both times again and again."""

    def __init__(self, core: Core) -> None:
        self.core = core

    def fire(self, now: float) -> float:
        keep_clock(self.core, now)
        return now + KEEP_SECONDS


def keep_clock(core: Core, now: float) -> None:
    text = f"{_CLOCK_VERSION};{now!r};{now + core.wall_offset!r}"
    core.journal.keep(CLOCK_ROOM, CLOCK_KEY, text.encode())


def _read_clock(kept: bytes | None) -> tuple[float, float] | None:
    if kept is None:
        return None
    try:
        version, last, shown = kept.decode("ascii").split(";")
        return (float(last), float(shown)) if version == _CLOCK_VERSION else None
    except ValueError:
        return None
