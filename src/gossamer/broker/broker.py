"""The broker's face to a shell: open connections, pass bytes and time in, write what comes out."""

from gossamer.broker.agenda import Duty
from gossamer.broker.clocks import KeepClock, keep_clock
from gossamer.broker.connecting import decide
from gossamer.broker.connection import Connection
from gossamer.broker.core import Core
from gossamer.broker.distributing import publish
from gossamer.broker.ending import disconnect_session, end_session
from gossamer.broker.keeping import expect_login
from gossamer.broker.operation import RESULT_QOS
from gossamer.broker.owing import serve
from gossamer.broker.policy import Origin, Permissions, Verdict
from gossamer.broker.queueing import Rights, bound_queue, look_for_room, settle_estates
from gossamer.broker.reporting import Report
from gossamer.broker.restoring import restore
from gossamer.broker.revoking import revoke
from gossamer.broker.settings import Settings
from gossamer.broker.stages import CLOSED, DECIDING
from gossamer.plus.capabilities import CAPABILITIES_TOPIC, capabilities
from gossamer.plus.engine import Engine
from gossamer.plus.jobs import Job
from gossamer.session.backlog import Backlog
from gossamer.session.journal import Journal
from gossamer.session.message import Message
from gossamer.session.outlet import Outlet, Sink
from gossamer.session.records import Snapshot
from gossamer.session.session import Session
from gossamer.wire import reasons

# Retained messages that have expired are freed this often, even if nobody asks for them.
_SWEEP_SECONDS = 60.0
# Routes are looked at as often, in slices of less than a millisecond each.
_SLICE_SECONDS = 0.05
_SLICE_ROUTES = 4_000


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
        engine = engine if engine is not None else Engine()
        self.core = Core(settings, journal, engine, now)
        self._set_offset(wall_offset, now)
        self.core.hub.guard = Rights(self.core)
        self.core.operators.begin(now)
        listed = capabilities(engine.vocabulary)
        publish(
            self.core,
            Message(CAPABILITIES_TOPIC, listed, RESULT_QOS, True, None, 0.0, "", ""),
            None,
            now,
        )
        if settings.sys_interval:
            self.core.agenda.add(now, Report(self.core))
        self.core.agenda.add(now + _SWEEP_SECONDS, _Sweep(self.core))
        self.core.agenda.add(now + _SWEEP_SECONDS, self.core.tally)
        self.core.agenda.add(now + _SWEEP_SECONDS, _RouteSweep(self.core))
        if journal.keeps:
            self.core.agenda.add(now, KeepClock(self.core))

    def restore(self, snapshot: Snapshot, now: float) -> None:
        """Once, before the first connection."""
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
        connection.outlet.sink.resume_reading()
        try:
            decide(connection, verdict, b"", now)
        except Exception as error:
            connection.fault("a login", error, now)
        if connection.stage != CLOSED:
            connection.proceed(now)

    def flush(self, now: float) -> None:
        """Writes what every dirty outlet has collected, once each."""
        hub = self.core.hub
        try:
            self.core.neighbours.end_turn(now)
        except Exception as error:
            self.core.faults.note("the mesh's turn", error, "", now)
        while hub.dirty or hub.owing:
            dirty = hub.dirty
            hub.dirty = []
            for outlet in dirty:
                try:
                    outlet.flush()
                except Exception as error:
                    self._cut(outlet, "a socket", error, now)
            self._pump_waiting(now)
            self._serve_owing(now)

    def _serve_owing(self, now: float) -> None:
        """Sessions whose queue is empty get more of the retained messages that they are owed."""
        hub = self.core.hub
        owing = hub.owing
        if owing:
            hub.owing = []
            for session in owing:
                if isinstance(session, Session):
                    try:
                        serve(self.core, session, now)
                    except Exception as error:
                        self._failed(session, error, now)

    def _pump(self, session: Backlog, now: float) -> None:
        """One session's queue: what goes wrong with it ends its connection, not the turn."""
        try:
            session.pump(now)
        except Exception as error:
            self._failed(session, error, now)

    def _failed(self, session: Backlog, error: Exception, now: float) -> None:
        outlet = session.outlet
        if outlet is None:
            self.core.faults.note("a queue", error, f"client {session.client_id!r}", now)
        else:
            self._cut(outlet, "a queue", error, now)

    def _cut(self, outlet: Outlet, place: str, error: Exception, now: float) -> None:
        connection = self.core.connections.get(outlet.token)
        if connection is not None:
            connection.fault(place, error, now)
            return
        self.core.faults.note(place, error, "", now)
        outlet.closed = True

    def _pump_waiting(self, now: float) -> None:
        """Sessions whose queue was cut off by the size of a turn go on."""
        hub = self.core.hub
        waiting = hub.waiting
        if waiting:
            hub.waiting = []
            for session in waiting:
                self._pump(session, now)

    def committed(self, batch: int, now: float) -> None:
        """The journal's transaction is on disk: what waited for it goes out."""
        self.core.hub.committed(batch)
        self.was_read(now)

    def was_read(self, now: float) -> None:
        """Something that was spilled may be had again: whoever waits for it asks."""
        hub = self.core.hub
        starving = hub.starving
        hub.starving = []
        for session in starving:
            session.is_starving = False
            self._pump(session, now)
        if self.core.journal.estates:
            settle_estates(self.core, now)
        self.flush(now)

    def tick(self, now: float) -> None:
        """Does what is due; call it about once a second, or at `next_due`."""
        self.core.agenda.run(now)
        if self.core.hub.full:
            look_for_room(self.core)
        if self.core.journal.estates:
            settle_estates(self.core, now)
        self.flush(now)

    def clock_set(self, wall_offset: float, now: float) -> None:
        """Somebody set the wall clock: windows go by it, and nothing else does."""
        self._set_offset(wall_offset, now)
        if self.core.journal.keeps:
            keep_clock(self.core, now)
        self.flush(now)

    def _set_offset(self, wall_offset: float, now: float) -> None:
        core = self.core
        core.wall_offset = wall_offset
        core.retained.stamp_offset = core.shared.stamp_offset = min(wall_offset, 0.0)
        core.journal.archive.wall_offset = wall_offset
        core.operators.clock_set(wall_offset, now)

    def next_due(self) -> float:
        return self.core.agenda.next_due()

    def processed(self, job: Job, answer: bytes | None, now: float) -> None:
        """A processor's answer, None if it failed."""
        try:
            self.core.operators.processed(job, answer, now)
        except Exception as error:
            self.core.faults.note("a processor's answer", error, "", now)
        self.flush(now)

    def disconnect(self, client_id: str, now: float, discard: bool = False) -> bool:
        """An administrator's wish."""
        session = self.core.sessions.get(client_id)
        if session is None:
            return False
        disconnect_session(self.core, session, reasons.ADMINISTRATIVE_ACTION, "", now)
        if discard and self.core.sessions.get(client_id) is session:
            end_session(self.core, session, now)
        self.flush(now)
        return True

    def set_settings(self, settings: Settings) -> None:
        """New limits and budgets: they hold for what comes."""
        core = self.core
        core.settings = settings
        core.ledger.allow(
            settings.budgets, settings.client_share, settings.user_share, settings.address_share
        )
        for session in core.sessions.values():
            bound_queue(session, settings)

    def set_permissions(self, permissions: Permissions, now: float) -> None:
        """New rules: they hold for live sessions too, at once."""
        core = self.core
        if permissions is not core.permissions:
            core.permissions.close()
            permissions.charge(core.ledger.grants)
        core.permissions = permissions
        core.routes.permissions = permissions
        core.routes.changes += 1
        core.policy_changes += 1
        if permissions.restricts:
            for session in list(core.sessions.values()):
                revoke(core, session)
        self.flush(now)

    def stop(self, now: float) -> None:
        """Says goodbye to every client; sessions stay in the store."""
        self.core.stopping = True
        self.core.operators.save()
        if self.core.journal.keeps:
            keep_clock(self.core, now)
        for connection in list(self.core.connections.values()):
            connection.fail(reasons.SERVER_SHUTTING_DOWN, "the broker is stopping", now)
        self.flush(now)


class _Sweep(Duty):
    def __init__(self, core: Core) -> None:
        self.core = core

    def fire(self, now: float) -> float:
        self.core.retained.sweep(now)
        self.core.refusals.purge(now)
        self.core.shared.sweep(now)
        return now + _SWEEP_SECONDS


class _RouteSweep(Duty):
    def __init__(self, core: Core) -> None:
        self.core = core

    def fire(self, now: float) -> float:
        is_done = self.core.routes.sweep(_SLICE_ROUTES)
        return now + (_SWEEP_SECONDS if is_done else _SLICE_SECONDS)
