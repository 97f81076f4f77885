"""A broker's state and its time after a restart, from what the store kept.

While it runs, its time goes on by the monotonic clock; `Core.wall_offset` is what the wall clock
shows more. For how long it was down only the wall clock can tell. The store has both times as they
were last, and from them it goes on: by as much as the wall clock has moved since. A clock that
shows a time before it, or one so far ahead that nobody leaves a broker down for so long, is not
believed: then no time has passed, and nothing expires that should not.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import islice
from typing import Final

from gossamer.broker.charges import weigh_session
from gossamer.broker.conditions import SEPARATOR, restored_subscription
from gossamer.broker.core import Core
from gossamer.broker.mesh_port import SHARED_ROOM
from gossamer.broker.retained_delivery import OWED_ROOM, serve_waiting
from gossamer.broker.retained_delivery import restore as restore_owed
from gossamer.broker.revocation import revoke
from gossamer.broker.session_end import end_session, expect_expiry, expect_will, will_delay
from gossamer.broker.session_start import AcceptedLogin, bound_queue, bound_unread, resume
from gossamer.broker.subscriptions import asked_of, enter, limit, make
from gossamer.broker.timers import Timer
from gossamer.geo.areas import GlpError
from gossamer.geo.geolocation import read_located
from gossamer.plus.plan import PlusError
from gossamer.session.handover import restore_before
from gossamer.session.message import Message
from gossamer.session.message_bytes import unpacked_message
from gossamer.session.queue import drop_oldest, look_for_room
from gossamer.session.records import Snapshot, StoredSession
from gossamer.session.session import NEVER, Session
from gossamer.topics.names import split_share

# Sessions whose time is resumed in one turn; for most of them that is a timer.
AT_ONCE: Final = 100
# Said in the log when nothing has to be waited for any more.
ALL_READ: Final = "everything that the store held has been read"

logger = logging.getLogger(__name__)


def restore(core: Core, snapshot: Snapshot, now: float) -> None:
    """Sessions routable again, expired ones ended, wills due at their time: at once, or as the
    store tells of what it holds."""
    restoring = Restoring(core, now)
    core.restoring = restoring
    restoring.begin(snapshot)
    while not restoring.is_done and not core.journal.unread.has_more:
        restoring.go_on(now)


class Restoring:
    """From when sessions are routable until the core has all that the store held.

    Nobody is answered wrongly meanwhile. A client whose session is not whole yet waits for its
    CONNACK, and the store reads that session next; what is published for a session goes behind what
    it is still to get. Retained messages that a subscription is owed wait until all are known
    (`retained_delivery.py`); what is published with RETAIN is kept at once, and the store's older
    message on that topic is passed over. Wills and expiries of sessions come with the rest of them.
    """

    def __init__(self, core: Core, now: float) -> None:
        self.core = core
        self._started_at = now
        # Sessions that have all they had, and whose time has not been resumed yet; and those that
        # the store has more of, each with what of its queue was on disk only.
        self._whole: dict[str, Session] = {}
        self._partial: dict[str, _OnDisk] = {}
        self._logins: dict[str, list[AcceptedLogin]] = {}  # that wait for one of these
        self._discarded: set[str] = set()  # those that are to end when they are whole
        self._awaits_retained = True
        self._had_more = core.journal.unread.has_more
        self.is_done = False

    def begin(self, snapshot: Snapshot) -> None:
        """Subscriptions are all there after this: what is published finds its receivers."""
        core = self.core
        now = self._started_at
        core.operators.awaits_retained = True
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
        core.places.load(now)
        core.locations.load({stored.record.client_id for stored in snapshot.sessions})
        for stored in snapshot.sessions:
            session = _restore_session(core, stored, now)
            if stored.is_whole:
                restore_before(session, stored.deliveries)
                self._whole[session.client_id] = session
            else:
                bound_unread(session, core.settings, stored.waiting)
                self._partial[session.client_id] = _OnDisk(stored)
        restore_owed(core, core.rooms.pop(OWED_ROOM, {}))
        self._take_retained(snapshot.retained, now)

    def holds(self, login: AcceptedLogin, now: float) -> bool:
        """Whether the login has to wait for its session; `resume` lets it go on."""
        client_id = login.client_id
        session = self._whole.pop(client_id, None)
        if session is not None:
            _resume_time(self.core, session, self._started_at, now)
        if client_id not in self._partial:
            return False
        self._want(client_id)
        self._logins.setdefault(client_id, []).append(login)
        return True

    def discards(self, client_id: str) -> bool:
        """Whether an administrator's wish to end the session has to wait until it is whole."""
        if client_id not in self._partial:
            return False
        self._want(client_id)
        self._discarded.add(client_id)
        return True

    def bounds_later(self, session: Session) -> bool:
        """Whether its queue gets its bounds when it is whole."""
        return session.client_id in self._partial

    def left(self) -> int:
        """Sessions that are not as they were."""
        return len(self._partial) + len(self._whole)

    def go_on(self, now: float) -> None:
        """Takes in the next piece, and what needs no reading."""
        unread = self.core.journal.unread
        piece = unread.take() if unread.has_more else None
        if piece is not None:
            self._take_retained(piece.retained, now)
            self.core.counters.damaged += piece.damaged
            for stored in piece.sessions:
                self._finish_session(stored, now)
        if self._awaits_retained and not unread.has_retained:
            self._awaits_retained = False
            self.core.retained.all_restored()
            self.core.operators.all_retained(now)
            self.core.places.read_topic(now)
            serve_waiting(self.core)
        # Only when all sessions are there: a will that is due now has subscribers among them, and
        # what one that expired leaves of a shared group has other members.
        for client_id in list(islice(self._whole, AT_ONCE)):
            _resume_time(self.core, self._whole.pop(client_id), self._started_at, now)
        if not unread.has_more and not self._whole and not self._partial:
            self.is_done = True
            self.core.restoring = None
            if self._had_more:
                logger.info(ALL_READ)

    def has_more(self) -> bool:
        """Whether `go_on` has something to do now."""
        return len(self._whole) > 0 or self.core.journal.unread.is_at_hand

    def _want(self, client_id: str) -> None:
        if client_id not in self._logins and client_id not in self._discarded:
            self.core.journal.unread.want(client_id)

    def _take_retained(self, messages: list[Message], now: float) -> None:
        core = self.core
        for message in messages:
            if not message.is_expired(now):
                core.retained.restore(message)
            else:
                core.retained.restore_expired(message)

    def _finish_session(self, stored: StoredSession, now: float) -> None:
        core = self.core
        client_id = stored.record.client_id
        session = core.sessions[client_id]
        on_disk = self._partial.pop(client_id)
        back = on_disk.messages - stored.spilled
        if back:
            session.own_lane().took_back(back, on_disk.size - stored.spilled_bytes)
        restore_before(session, stored.deliveries)
        if stored.damaged:
            session.own_lane().damaged += stored.damaged
            core.counters.damaged += stored.damaged
        bound_queue(session, core.settings)
        drop_oldest(session, 0)
        if session.is_full:
            look_for_room(session)
        if core.permissions.restricts:
            revoke(core, session)  # rights may have changed while it was not whole
        _resume_time(core, session, self._started_at, now)
        if client_id in self._discarded:
            self._discarded.discard(client_id)
            if core.sessions.get(client_id) is session:
                end_session(core, session, now)
        for login in self._logins.pop(client_id, ()):
            resume(login, now)


class _OnDisk:
    """How much of a queue was in its lane only, before some of it came back with the rest."""

    def __init__(self, stored: StoredSession) -> None:
        self.messages = stored.spilled
        self.size = stored.spilled_bytes


def _restore_session(core: Core, stored: StoredSession, now: float) -> Session:
    """But for its deliveries, and its time."""
    session = Session(core.hub, stored.record)
    bound_queue(session, core.settings)
    if stored.incoming:
        session.incoming = set(stored.incoming)
    if stored.spilled:
        session.own_lane().restore(stored.spilled, stored.spilled_bytes)
    session.number_after(stored.last_number)
    core.sessions[session.client_id] = session
    core.counters.sessions = len(core.sessions)
    core.session_quotas.update(session)
    weigh_session(core, session)
    for record in stored.subscriptions:
        if SEPARATOR in record.filter:
            enter(core, restored_subscription(core, session, record))
            continue
        try:
            asked = asked_of(core, split_share(record.filter)[1], record.user)
            located = read_located(record.user)
            limit(core, session, record.filter, asked, located)
        except (PlusError, GlpError):
            # The window or the processor that it needs is configured no more.
            core.journal.subscription_removed(session.client_id, record.filter)
            continue
        enter(core, make(core, session, record, asked, located, now))
    return session


def _resume_time(core: Core, session: Session, started_at: float, now: float) -> None:
    """Time spent down counts; a client that was connected when we died is gone since the start."""
    record = session.record
    if record.disconnected_at == 0.0:
        record.disconnected_at = started_at
        if record.will is not None:
            record.will_due = started_at + will_delay(record)
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
