"""A session moves, and brokers crash at every single step of that: what they had not committed is
gone, and still the session is one thing with one owner.

A step is a batch that the store of the old broker, the new one or the one between them commits. A
crash comes as the batch is given to the disk, which loses it; just before the disk has it, so that
everything is out that promised nothing; once it is there, with nothing sent that waited for it; and
when that has been sent. Each is tried with that broker alone, and with all three at once.

The oracle holds the outcome to the rule: the client finds its session, with its filters and no
others; what was published to it at QoS 1 and 2 comes, at QoS 2 once; what it published at QoS 2
comes to others once; and nothing that was published after an UNSUBSCRIBE was answered comes at all.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, product
from random import Random

import pytest

from gossamer.mesh.settings import MODES
from gossamer.session.records import Snapshot
from gossamer.sim.host import Disk, SimulatedHost
from gossamer.storage.batch import Batch
from gossamer.storage.memory_journal import MemoryJournal
from gossamer_lab.trials.plan import MOVE, ClientPlan, TrialPlan, TrialStep
from gossamer_lab.trials.trial import run_world
from gossamer_lab.trials.trial_client import Deferred
from gossamer_lab.trials.world import RoughRoad, World

OLD, BETWEEN, NEW = range(3)
LINKS = [[OLD, BETWEEN], [NEW, BETWEEN]]
COMMIT_SECONDS = 0.004
LATENCY = 0.001
MOVES_AT = 1.0
UNSUBSCRIBES_AT = 1.4
# The old broker lets go some 15 seconds after the new one has the session.
LAST_AT = 40.0
LOST, LOST_LATE, KEPT, SENT = MOMENTS = range(4)
DOWN_SECONDS = (0.0, 0.4, 3.0)
# Each mode takes others of all crashes. Together they take so many of them; every one, and in every
# mode, is a matter of minutes.
SHARE = 4 * len(MODES)


class StepDisk(Disk):
    """Tells of each batch that it begins and has written."""

    def __init__(self, begun: Callable[[], None], written: Callable[[], None]) -> None:
        super().__init__()
        self.memory = MemoryJournal()
        self.journal = self.memory
        self._begun = begun
        self._written = written
        self._writing: Batch | None = None

    def snapshot(self) -> Snapshot:
        return self.memory.snapshot

    def is_writing(self) -> bool:
        return self._writing is not None

    def begin(self) -> float:
        self._writing = self.memory.take()
        self._begun()
        return COMMIT_SECONDS

    def finish(self) -> int:
        batch = self._writing
        assert batch is not None
        self._writing = None
        self.memory.tables.apply(batch)
        self._written()
        return batch.number

    def lose_power(self) -> None:
        self._writing = None
        self.memory = self.memory.restarted()
        self.journal = self.memory


class StepWorld(World):
    """Counts the steps of all brokers from the move on; one or all of them crash at one step."""

    def __init__(
        self, plan: TrialPlan, step: int = -1, moment: int = LOST, all_crash: bool = False
    ) -> None:
        self.steps = 0
        self._step = step
        self._moment = moment
        self._all_crash = all_crash
        self._counts = False
        self._seconds = DOWN_SECONDS[plan.seed % len(DOWN_SECONDS)]
        super().__init__(plan)

    def do(self, step: TrialStep) -> None:
        self._counts = self._counts or step.verb == MOVE
        super().do(step)

    def road(self) -> RoughRoad:
        road = RoughRoad(LATENCY)
        road.random = Random(self.random.random())
        return road

    def _disk(self, host: str) -> Disk:
        return StepDisk(partial(self._begun, host), partial(self._written, host))

    def _lose_power(self, host: SimulatedHost) -> None:
        assert isinstance(host.disk, StepDisk)
        host.disk.lose_power()

    def _begun(self, host: str) -> None:
        if not self._counts:
            return
        self.steps += 1
        if self.steps - 1 != self._step:
            return
        if self._moment == LOST:
            self._crash_in(0.0, host)
        elif self._moment == LOST_LATE:
            self._crash_in(COMMIT_SECONDS * 0.9, host)

    def _written(self, host: str) -> None:
        if self.steps - 1 != self._step:
            return
        if self._moment == KEPT:
            self._crash_in(0.0, host)
        elif self._moment == SENT:
            self._crash_in(LATENCY * 2.5, host)

    def _crash_in(self, seconds: float, host: str) -> None:
        for each in self.hosts:
            if self._all_crash or each.name == host:
                crash = Deferred(partial(self.crash, each, self._seconds))
                self.timeline.add(self.timeline.now + seconds, crash)


def moving(mode: str, seed: int) -> TrialPlan:
    """`s` moves while it publishes and is published to, and ends a subscription after that."""
    clients = [
        ClientPlan("s", OLD, True, -1, False),
        ClientPlan("o", OLD, True, -1, False),
        ClientPlan("p", BETWEEN, True, -1, False),
        ClientPlan("q", NEW, True, -1, False),
    ]
    plan = TrialPlan(seed, mode, 3, LINKS, 0.0, 0.0, COMMIT_SECONDS, clients)
    asked = [
        TrialStep(0.1, "subscribe", "s", "a/#", 2),
        TrialStep(0.1, "subscribe", "s", "b", 1),
        TrialStep(0.1, "subscribe", "q", "c", 2),
    ]
    steps = [TrialStep(MOVES_AT, MOVE, "s", str(NEW))]
    for number in range(12):
        at = round(MOVES_AT - 0.05 + 0.012 * number, 4)
        steps.append(TrialStep(at, "publish", "opq"[number % 3], "a/b", 1 + number // 3 % 2))
    for at in (-0.02, -0.003, -0.001):
        steps.append(TrialStep(MOVES_AT + at, "publish", "s", "c", 2))
    steps.append(TrialStep(UNSUBSCRIBES_AT, "unsubscribe", "s", "a/#"))
    for at in (UNSUBSCRIBES_AT, UNSUBSCRIBES_AT + 0.5, UNSUBSCRIBES_AT + 2.0, LAST_AT):
        for name in "opq":
            steps.append(TrialStep(at, "publish", name, "a/b", 2))
            steps.append(TrialStep(at, "publish", name, "b", 1))
    steps.sort(key=lambda step: step.at)
    plan.rounds = [asked, steps]
    return plan


def crashes(mode: str) -> Iterator[tuple[int, int, bool]]:
    """Those of a mode: the step, the moment, and whether all brokers crash."""
    world = StepWorld(moving(mode, 0))
    assert not run_world(world).faults
    every = product(range(world.steps), MOMENTS, (False, True))
    return islice(every, MODES.index(mode), None, SHARE)


@pytest.mark.parametrize("mode", MODES)
def test_a_crash_at_every_step(mode: str) -> None:
    for turn, (step, moment, all_crash) in enumerate(crashes(mode)):
        world = StepWorld(moving(mode, turn), step, moment, all_crash)
        assert not run_world(world).faults, (turn, step, moment, all_crash)


def test_a_claim_is_told_to_a_neighbour_that_had_compared_before() -> None:
    """With this seed one of two brokers takes up their link while a claim is on its way to it, and
    after the other has said what it has: the claim went to nobody then."""
    assert not run_world(StepWorld(moving("bloom", 1325))).faults
