"""One simulated machine: a shipping broker with its mesh, a clock that may be wrong, and a store.

It handles what arrived in turns. A turn takes as long as its messages cost; what arrives meanwhile
waits, and the length of that queue is a result. A crash loses everything but what the store has
committed.
"""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.broker.broker import Broker
from gossamer.broker.connection import Connection
from gossamer.broker.policy import Origin
from gossamer.broker.settings import Settings
from gossamer.mesh.mesh import Mesh
from gossamer.mesh.settings import MeshSettings
from gossamer.plus.engine import Engine
from gossamer.plus.operators.windows import Window
from gossamer.plus.registry import DEFAULT_WINDOWS
from gossamer.plus.vocabulary import Vocabulary
from gossamer.session.journal import Journal
from gossamer.session.records import Snapshot
from gossamer.sim.known_links import KnownLinks, LinkMap
from gossamer.sim.network import End, Party, Road
from gossamer.sim.timeline import Event, Timeline
from gossamer.storage.batch import Batch
from gossamer.storage.memory_journal import MemoryJournal

WALL_CLOCK: Final = 1_700_000_000.0  # what a right clock shows when a simulation starts
# The longest `silence_seconds` that a configuration may have: where no link fails, brokers need not
# ask each other often, and one that is overloaded is not taken for dead.
CALM_SECONDS: Final = 60.0
ORIGIN: Final = Origin("127.0.0.1", "sim")
Arrival = tuple[End, bytes, int, int]


class HostClock:
    """A broker's own idea of the time."""

    def __init__(self, offset: float = 0.0, drift: float = 0.0) -> None:
        self.offset = offset  # seconds ahead
        self.drift = drift  # seconds gained in each second

    def at(self, now: float) -> float:
        return WALL_CLOCK + self.offset + now * (1.0 + self.drift)


class WorkCost:
    """Seconds of work for a message, publication or interest."""

    def __init__(self, receiving: float = 0.0, sending: float = 0.0) -> None:
        self.receiving = receiving
        self.sending = sending  # to a neighbour


@mypyc_attr(allow_interpreted_subclasses=True)
class Disk:
    """Where a host's journal goes; this one keeps nothing."""

    def __init__(self) -> None:
        self.journal = Journal()

    def snapshot(self) -> Snapshot:
        """What a broker finds there when it starts."""
        return Snapshot()

    def is_writing(self) -> bool:
        return False

    def begin(self) -> float:
        """Starts to write what was collected; the seconds that it takes."""
        return 0.0

    def finish(self) -> int:
        """It is written: the number of the batch that is safe now."""
        return 0


class HostEnd(End):
    """A broker's end of a connection that it accepted."""

    def __init__(self, host: SimulatedHost, road: Road) -> None:
        super().__init__(host, road)
        self.host = host
        self.connection: Connection | None = None

    def take(self, data: bytes, now: float) -> None:
        connection = self.connection
        if connection is None:
            connection = self.host.broker.open(self, ORIGIN, now)
            self.connection = connection
            self.outbox = connection.outbox
        connection.receive(data, now)

    def lost(self, now: float) -> None:
        if self.connection is not None:
            self.connection.lost(now)

    def unblocked(self, now: float) -> None:
        if self.connection is not None:
            self.connection.unblocked(self.host.clock.at(now))
            self.host.end_turn(now)


class SimulatedHost(Party):
    """`turn` is the most work that it does before it looks around, in seconds.

    With `links`, those of the whole mesh are known beforehand and none ever fails.
    """

    def __init__(
        self,
        timeline: Timeline,
        name: str,
        mode: str,
        disk: Disk,
        clock: HostClock,
        cost: WorkCost,
        turn: float = 0.0,
        tick: float = 0.25,
        is_joint: bool = False,
        links: LinkMap | None = None,
        windows: tuple[Window, ...] = DEFAULT_WINDOWS,
    ) -> None:
        super().__init__(timeline)
        self.name = name
        self.mode = mode
        self.disk = disk
        self.clock = clock
        self.cost = cost
        self.turn = turn
        self.tick = tick
        self.settings = Settings()
        self.settings.sys_interval = 0.0
        self.is_joint = is_joint
        self.roaming_seconds = 5.0
        self.aggregates = "auto"
        self.links = links
        self.windows = windows
        self.is_up = True
        self.departure = 0.0  # when the work of this turn is done
        self.life = 0  # grows with each start: what belongs to an earlier one is void
        self.queued = 0  # publications and interests that wait
        self.queued_interests = 0
        self.longest_queue = 0  # since somebody last set it back
        self._incoming_sessions: dict[float, list[Arrival]] = {}
        self._backlog: deque[Arrival] = deque()
        self._busy_until = 0.0
        self._wakes_at = -1.0
        self._sent = 0
        self.broker = self._started()
        self.mesh = self._meshed()
        timeline.add(timeline.now + tick, Tick(self))

    # Time ----------------------------------------------------------------------------------------

    def arrive(self, at: float, end: End, data: bytes, publications: int, interests: int) -> None:
        waiting = self._incoming_sessions.get(at)
        if waiting is None:
            waiting = self._incoming_sessions[at] = []
            self.timeline.add(at, self)
        waiting.append((end, data, publications, interests))

    def leaving(self) -> float:
        return self.departure

    def sends(self, messages: int) -> None:
        self._sent += messages

    def fire(self, now: float) -> None:
        arrived = self._incoming_sessions.pop(now, None)
        if not self.is_up:
            return
        if arrived is not None:
            for incoming in arrived:
                self._backlog.append(incoming)
                self.queued += incoming[2] + incoming[3]
                self.queued_interests += incoming[3]
            if self.queued > self.longest_queue:
                self.longest_queue = self.queued
        if not self._backlog:
            return
        if now >= self._busy_until:
            self._work(now)
        if self._backlog and self._wakes_at < self._busy_until:
            self._wakes_at = self._busy_until
            self.timeline.add(self._busy_until, self)

    def begin_turn(self, now: float) -> None:
        """What is written from now on leaves now: an answer must not precede its question."""
        if self.departure < now:
            self.departure = now

    def _work(self, now: float) -> None:
        self.begin_turn(now)
        local = self.clock.at(now)
        cost = self.cost
        spent = 0.0
        backlog = self._backlog
        while backlog:
            end, data, publications, interests = backlog.popleft()
            self.queued -= publications + interests
            self.queued_interests -= interests
            if not end.is_open:
                continue
            if data:
                end.take(data, local)
            else:
                end.is_open = False
                end.lost(local)
            spent += (publications + interests) * cost.receiving
            if self.turn and spent >= self.turn:
                break
        self._sent = 0
        self.departure = now + spent
        self.end_turn(now)
        self._busy_until = self.departure + self._sent * cost.sending

    def end_turn(self, now: float) -> None:
        """Sends what the turn caused, and lets the store write what it collected."""
        self.begin_turn(now)
        self.broker.flush(self.clock.at(now))
        self.save(now)

    def save(self, now: float) -> None:
        disk = self.disk
        if disk.journal.dirty and not disk.is_writing():
            self.timeline.add(now + disk.begin(), Commit(self))

    # Life ----------------------------------------------------------------------------------------

    def stop(self) -> None:
        """As a power cut does it."""
        self.is_up = False
        self.life += 1
        self._incoming_sessions.clear()
        self._backlog.clear()
        self.queued = 0
        self.queued_interests = 0

    def start(self, now: float) -> None:
        """From what the disk holds."""
        self.is_up = True
        self._busy_until = now
        self.departure = now
        self.broker = self._started()
        self.mesh = self._meshed()
        self.timeline.add(now, Tick(self))

    def _started(self) -> Broker:
        now = self.clock.at(self.timeline.now)
        engine = Engine(Vocabulary(self.windows))
        broker = Broker(self.settings, self.disk.journal, now, engine)
        broker.restore(self.disk.snapshot(), now)
        return broker

    def _meshed(self) -> Mesh:
        settings = MeshSettings(self.name, self.mode, "sim", "key")
        settings.is_joint = self.is_joint
        settings.roaming_seconds = self.roaming_seconds
        settings.aggregates = self.aggregates
        if self.links is None:
            return Mesh(self.broker.core, settings)
        settings.silence = CALM_SECONDS
        return Mesh(self.broker.core, settings, KnownLinks(self.name, self.links))


class Tick(Event):
    """A broker looks at what is due, for as long as it lives."""

    def __init__(self, host: SimulatedHost) -> None:
        self.host = host
        self.life = host.life

    def fire(self, now: float) -> None:
        host = self.host
        if host.life == self.life:
            host.begin_turn(now)
            host.broker.tick(host.clock.at(now))
            host.end_turn(now)
            host.timeline.add(now + host.tick, self)


class Commit(Event):
    """The disk has written a batch."""

    def __init__(self, host: SimulatedHost) -> None:
        self.host = host
        self.life = host.life

    def fire(self, now: float) -> None:
        host = self.host
        if host.life == self.life:
            host.begin_turn(now)
            batch = host.disk.finish()
            host.broker.committed(batch, host.clock.at(now))
            host.end_turn(now)


class SlowDisk(Disk):
    """Writes one batch at a time; a power cut finds the one being written done or not at all."""

    def __init__(self, random: Random, most_seconds: float) -> None:
        self.memory = MemoryJournal()
        self.journal = self.memory
        self._random = random
        self._most_seconds = most_seconds
        self._writing: Batch | None = None

    def snapshot(self) -> Snapshot:
        return self.memory.snapshot

    def is_writing(self) -> bool:
        return self._writing is not None

    def begin(self) -> float:
        self._writing = self.memory.take()
        return self._random.uniform(0.0, self._most_seconds)

    def finish(self) -> int:
        batch = self._writing
        assert batch is not None
        self._writing = None
        self.memory.tables.apply(batch)
        return batch.number

    def lose_power(self) -> None:
        """What is on the platter stays; the next broker starts from there."""
        if self._writing is not None and self._random.random() < 0.5:
            self.memory.tables.apply(self._writing)
        self._writing = None
        self.memory = self.memory.restarted()
        self.journal = self.memory
