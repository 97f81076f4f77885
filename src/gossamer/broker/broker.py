"""The broker's face to a shell: open connections, pass bytes and time in, write what comes out."""

from itertools import islice

from gossamer.broker.archive_port import ArchivePort
from gossamer.broker.capabilities import Capabilities
from gossamer.broker.catch_up import CatchUpRequest
from gossamer.broker.connect import decide
from gossamer.broker.connection import Connection
from gossamer.broker.core import CLOSED, DECIDING, Core
from gossamer.broker.keep_alive import expect_login
from gossamer.broker.loop_turns import QUEUE
from gossamer.broker.policy import Origin, Permissions, Verdict
from gossamer.broker.restore import ClockSaver, Restoring, keep_clock, restore
from gossamer.broker.retained import Retained
from gossamer.broker.retained_delivery import serve
from gossamer.broker.revocation import QueueRights, begin_revoking
from gossamer.broker.session_end import disconnect_session, end_session, settle_estates
from gossamer.broker.session_start import bound_queue
from gossamer.broker.settings import Settings
from gossamer.broker.sys_topics import SysTopics
from gossamer.broker.timers import Timer
from gossamer.plus.engine import Engine
from gossamer.plus.jobs import Job
from gossamer.session.journal import Journal
from gossamer.session.outbox import Outbox
from gossamer.session.queue import look_for_room, may_refill
from gossamer.session.records import Snapshot
from gossamer.session.session import Session
from gossamer.session.sink import Sink
from gossamer.wire import reasons

# Retained messages that have expired are freed this often, even if nobody asks for them.
_SWEEP_SECONDS = 60.0
# They, and routes, are looked at in slices of less than a millisecond each.
_SLICE_SECONDS = 0.05
_SLICE_RETAINED = 1_000
_SLICE_ROUTES = 4_000
# Sessions that wait for room in memory, and full queues, that are looked at in one tick.
_AT_ONCE = 200
_FULL_AT_ONCE = 2_000
# Outboxes that are written in one turn: a system call each, together about a millisecond.
_WRITES = 128


class Broker:
    """Synchronous and without IO; every call happens on the shell's one thread."""

    def __init__(
        self,
        settings: Settings,
        journal: Journal,
        now: float,
        engine: Engine | None = None,
        wall_offset: float = 0.0,
    ) -> None:
        """`now` and all times after it never jump; with `wall_offset` it is the wall clock's."""
        self.divides = False  # the shell calls `go_on` itself, and serves others in between
        engine = engine if engine is not None else Engine()
        self.core = Core(settings, journal, engine, now)
        self._set_offset(wall_offset, now)
        self.core.hub.guard = QueueRights(self.core)
        self.core.operators.begin(now)
        self.core.places.begin()
        Capabilities(self.core).begin(now)
        if settings.sys_interval:
            self.core.timers.add(now, SysTopics(self.core))
        self.core.timers.add(now + _SWEEP_SECONDS, _SweepTimer(self.core.retained))
        self.core.timers.add(now + _SWEEP_SECONDS, _SweepTimer(self.core.shared))
        self.core.timers.add(now + _SWEEP_SECONDS, _Purge(self.core))
        self.core.timers.add(now + _SWEEP_SECONDS, self.core.usage)
        self.core.timers.add(now + _SWEEP_SECONDS, _RouteSweep(self.core))
        if journal.keeps:
            self.core.timers.add(now, ClockSaver(self.core))

    def restore(self, snapshot: Snapshot, now: float) -> None:
        """Once, before the first connection. What the store has not told by then (`Journal.unread`)
        comes as it is read."""
        restore(self.core, snapshot, now)

    def open(self, sink: Sink, origin: Origin, now: float) -> Connection:
        """A connection was accepted."""
        core = self.core
        core.last_token += 1
        connection = Connection(core, sink, origin, core.last_token, now)
        core.connections[connection.token] = connection
        core.counters.connections_open = len(core.connections)
        expect_login(connection, now)
        return connection

    def decide(self, token: int, verdict: Verdict, now: float) -> None:
        """The answer to a login that took its time."""
        connection = self.core.connections.get(token)
        if connection is None or connection.stage != DECIDING:
            return
        try:
            decide(connection, verdict, b"", now)
        except Exception as error:
            connection.fault("a login", error, now)
        if connection.stage != CLOSED:
            connection.proceed(now)
        connection.outbox.sink.resume_reading()

    def flush(self, now: float) -> None:
        """Writes all there is to write, and what follows from that, unless the shell divides it."""
        self.end_turn(now)
        while not self.divides and self.has_more():
            self.go_on(now)

    def end_turn(self, now: float) -> None:
        """Writes what every dirty outbox has collected, once each; past so many of them the rest
        is written in turns of its own, if the shell divides."""
        if self.core.is_meshed:
            try:
                self.core.neighbours.end_turn(now)
            except Exception as error:
                self.core.faults.note("the mesh timers", error, "", now)
        self._write_dirty(now)

    def has_more(self) -> bool:
        """Whether somebody's queue has more to send than one turn takes, timers are late, or more
        of what the store held is at hand."""
        core = self.core
        hub = core.hub
        if hub.waiting or hub.owing or hub.dirty or core.timers.is_behind or len(core.chores):
            return True
        restoring = core.restoring
        return restoring is not None and restoring.has_more()

    def has_unwritten(self) -> bool:
        """Whether `write_more` has something to write."""
        return bool(self.core.hub.unwritten)

    def go_on(self, now: float) -> str:
        """One turn of one session that has more to send; they take turns. Answers whose it was.
        Timers that are late have a slice beside it, what the store held, and chores."""
        hub = self.core.hub
        client_id = ""
        if self.core.timers.is_behind:
            self.core.timers.run(now)
        restoring = self.core.restoring
        if restoring is not None and restoring.has_more():
            self._restore_more(restoring, now)
        if len(self.core.chores):
            self.core.chores.step(self.core, now)
        if hub.waiting:
            session = next(iter(hub.waiting))
            del hub.waiting[session]
            client_id = session.client_id
            self._pump(session, now)
            outbox = session.outbox
            if outbox is not None:
                self._write(outbox, now)  # it may have its place among many that are to be written
            if outbox is not None and outbox.size and session in hub.waiting:
                del hub.waiting[session]
                hub.stalled.append(session)  # nothing is written before a transaction is on disk
        elif hub.owing:
            session = next(iter(hub.owing))
            del hub.owing[session]
            if isinstance(session, Session):
                client_id = session.client_id
                try:
                    serve(self.core, session, now)
                except Exception as error:
                    self._failed(session, error, now)
        self._write_dirty(now)
        return client_id

    def write_more(self, now: float) -> None:
        """A turn for outboxes that one turn was not enough for, those first that wait longest."""
        unwritten = self.core.hub.unwritten
        for _ in range(min(_WRITES, len(unwritten))):
            self._write(unwritten.popleft(), now)

    def _restore_more(self, restoring: Restoring, now: float) -> None:
        try:
            restoring.go_on(now)
        except Exception as error:
            self.core.faults.note("what the store held", error, "", now)

    def _write_dirty(self, now: float) -> None:
        hub = self.core.hub
        left = _WRITES
        while hub.dirty:
            dirty = hub.dirty
            hub.dirty = []
            for outbox in dirty:
                if left <= 0 and self.divides:
                    hub.unwritten.append(outbox)
                else:
                    left -= 1
                    self._write(outbox, now)
        while hub.unwritten and not self.divides:
            self.write_more(now)

    def _write(self, outbox: Outbox, now: float) -> None:
        try:
            outbox.flush()
        except Exception as error:
            self._cut(outbox, "a socket", error, now)

    def _pump(self, session: Session, now: float) -> None:
        """One session's queue: what goes wrong with it ends its connection, not the turn."""
        try:
            session.pump(now)
        except Exception as error:
            self._failed(session, error, now)

    def _failed(self, session: Session, error: Exception, now: float) -> None:
        outbox = session.outbox
        if outbox is None:
            self.core.faults.note("a queue", error, f"client {session.client_id!r}", now)
        else:
            self._cut(outbox, "a queue", error, now)

    def _cut(self, outbox: Outbox, place: str, error: Exception, now: float) -> None:
        connection = self.core.connections.get(outbox.token)
        if connection is not None:
            connection.fault(place, error, now)
            return
        self.core.faults.note(place, error, "", now)
        outbox.closed = True

    def committed(self, batch: int, now: float) -> None:
        """The journal's transaction is on disk: what waited for it goes out."""
        self.core.hub.committed(batch)
        self.was_read(now)  # what was spilled by then can be read back

    def was_read(self, now: float) -> None:
        """Something that was spilled may be had again: whoever waits for it asks. Or more of what
        the store held at the start is known."""
        if self.core.restoring is not None:
            self._restore_more(self.core.restoring, now)
        hub = self.core.hub
        starving = hub.starving
        hub.starving = []
        turns = self.core.turns
        at = turns.read()
        for session in starving:
            session.is_starving = False
            self._pump(session, now)
            began, at = at, turns.read()
            if turns.part(at - began):
                turns.name_part(at - began, QUEUE, session.client_id)
        if self.core.journal.estates:
            settle_estates(self.core, now)
        self.flush(now)

    def tick(self, now: float) -> None:
        """Does what is due; call it about once a second, or at `next_due`."""
        self.core.timers.run(now)
        # Queues that are full because others fill the disk have room when those have left.
        full = self.core.hub.full
        for queue in list(islice(full, _FULL_AT_ONCE)):
            del full[queue]
            full[queue] = None  # behind the others
            look_for_room(queue)
        self._serve_crowded(now)
        if self.core.journal.estates:
            settle_estates(self.core, now)
        self.flush(now)

    def _serve_crowded(self, now: float) -> None:
        """Sessions that waited for room in memory ask again for what they spilled, in turns."""
        hub = self.core.hub
        for session in list(hub.crowded)[:_AT_ONCE] if hub.crowded else ():
            del hub.crowded[session]
            if may_refill(session):
                hub.waiting[session] = None
            elif session.outbox is not None:
                hub.crowded[session] = None  # behind the others

    def clock_set(self, wall_offset: float, now: float) -> None:
        """Somebody set the wall clock: windows go by it, and nothing else does."""
        self._set_offset(wall_offset, now)
        if self.core.journal.keeps:
            keep_clock(self.core, now)
        self.flush(now)

    def begin_archiving(self, archive: ArchivePort, filters: list[str]) -> None:
        """What clients publish there from now on goes to this archive."""
        core = self.core
        core.archive = archive
        archive.wall_offset = core.wall_offset
        core.put_budgets_in_force()
        core.routes.archive_under(filters)

    def _set_offset(self, wall_offset: float, now: float) -> None:
        core = self.core
        core.wall_offset = wall_offset
        core.retained.stamp_offset = core.shared.stamp_offset = min(wall_offset, 0.0)
        core.archive.wall_offset = wall_offset
        core.operators.clock_set(wall_offset, now)
        core.neighbours.clock_set(now)

    def next_due(self) -> float:
        return self.core.timers.next_due()

    def processed(self, job: Job, answer: bytes | None, now: float) -> None:
        """A processor's answer, None if it failed."""
        try:
            self.core.operators.processed(job, answer, now)
        except Exception as error:
            self.core.faults.note("a processor's answer", error, "", now)
        self.flush(now)

    def caught_up(self, request: CatchUpRequest, now: float) -> None:
        """What was asked of the archive for an operator that has begun is there, or cannot be."""
        try:
            self.core.operators.catching_up.finish(request, now)
        except Exception as error:
            self.core.faults.note("what was read for an operator", error, "", now)
        self.flush(now)

    def disconnect(self, client_id: str, now: float, discard: bool = False) -> bool:
        """An administrator's wish."""
        session = self.core.sessions.get(client_id)
        if session is None:
            return False
        disconnect_session(self.core, session, reasons.ADMINISTRATIVE_ACTION, "", now)
        restoring = self.core.restoring
        if discard and restoring is not None and restoring.discards(client_id):
            return True
        if discard and self.core.sessions.get(client_id) is session:
            end_session(self.core, session, now)
        self.flush(now)
        return True

    def set_settings(self, settings: Settings) -> None:
        """New limits and budgets: they hold for what comes."""
        core = self.core
        core.settings = settings
        core.put_budgets_in_force()
        restoring = core.restoring
        for session in core.sessions.values():
            if restoring is None or not restoring.bounds_later(session):
                bound_queue(session, settings)

    def set_permissions(self, permissions: Permissions, now: float) -> None:
        """New rules: they hold for live sessions too, at once."""
        core = self.core
        was_guarding = core.permissions.guards_positions
        if permissions is not core.permissions:
            core.permissions.close()
            permissions.charge(core.ledger.grants)
        core.permissions = permissions
        core.routes.permissions = permissions
        core.routes.changes += 1
        core.policy_changes += 1
        if permissions.restricts:
            begin_revoking(core)
        if permissions.guards_positions != was_guarding:
            core.neighbours.rights_changed()
        self.flush(now)

    def set_places(self, places: dict[str, str], topic: str, by: str, now: float) -> None:
        """What the configuration of the broker of that name says about places."""
        self.core.places.configure(places, topic, by, now)
        self.flush(now)

    def begin_stop(self, now: float) -> None:
        """Says goodbye to clients, but for those that have something to bring to its end; links
        stand until `stop`."""
        self.core.stopping = True
        for connection in list(self.core.connections.values()):
            connection.leave(now)
        self.flush(now)

    def is_stopping(self) -> bool:
        """Whether a client still has something to bring to its end."""
        return any(each.has_more_to_say() for each in self.core.connections.values())

    def stop(self, now: float) -> None:
        """Says goodbye to every client; sessions stay in the store."""
        self.core.stopping = True
        self.core.operators.save()
        if self.core.journal.keeps:
            keep_clock(self.core, now)
        for connection in list(self.core.connections.values()):
            connection.fail(reasons.SERVER_SHUTTING_DOWN, "the broker is stopping", now)
        self.flush(now)


class _SweepTimer(Timer):
    def __init__(self, retained: Retained) -> None:
        self.retained = retained

    def fire(self, now: float) -> float:
        is_done = self.retained.sweep(now, _SLICE_RETAINED)
        return now + (_SWEEP_SECONDS if is_done else _SLICE_SECONDS)


class _Purge(Timer):
    def __init__(self, core: Core) -> None:
        self.core = core

    def fire(self, now: float) -> float:
        self.core.refusals.purge(now)
        return now + _SWEEP_SECONDS


class _RouteSweep(Timer):
    def __init__(self, core: Core) -> None:
        self.core = core

    def fire(self, now: float) -> float:
        is_done = self.core.routes.sweep(_SLICE_ROUTES)
        return now + (_SWEEP_SECONDS if is_done else _SLICE_SECONDS)
