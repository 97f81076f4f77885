"""What happens in a trial, as data: who is where, and what befalls them when.

A plan is made from a seed. As text it is the trace that repeats a failure, and can be made smaller
by leaving steps out. What a seed draws, and in which order, must not change: seeds that once failed
are known by their number. What came to be drawn later has a stream of its own, and bursts can be
left out, as they are of seeds that failed before there were any.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from random import Random

from gossamer.mesh.settings import MODES
from gossamer_lab.trials.conditions import HERE
from gossamer_lab.trials.windows import is_window_filter

# A few names in few levels, so that filters meet, contain each other and overlap all the time.
NAMES = ("a", "b", "c")
MOST_LEVELS = 3
ROUND_SECONDS = 6.0
# What may befall a mesh, by trial.
TROUBLES: tuple[tuple[str, ...], ...] = (
    (),
    ("cut",),
    ("crash",),
    ("flap", "stall"),
    ("split", "cut"),
    ("leave", "join", "cut"),
    ("cut", "crash", "stall", "drop"),
    ("cut", "crash", "stall", "drop", "split", "flap", "leave", "join"),
)


Links = list[list[int]]  # pairs of brokers, of which the first dials; a pair may be there twice
# Publications in one chunk. Most bursts fit every window, some are longer than what a road carries
# at once.
BURST_SIZES = (2, 3, 8, 8, 40)
GROUP_FILTERS = ("#", "+/b", "a/#", "a", "+/+/+")
MOVE = "move"
WALK = "walk"  # to a position, with the client's connection
# What clients do of their own accord.
CALM = frozenset(("subscribe", "unsubscribe", "publish", "burst", "clear", WALK))


@dataclass
class ClientPlan:
    """One client. A `lasting` one has a session that outlives its connections."""

    name: str
    broker: int
    lasting: bool
    will_qos: int  # -1 for no will
    no_local: bool


@dataclass
class TrialStep:
    """At a time of its round, a verb is done to what `what` names."""

    at: float
    verb: str
    what: str | int
    topic: str = ""
    qos: int = 0
    retain: bool = False
    seconds: float = 0.0
    burst: str = ""  # the QoS of each publication of a burst, a digit each
    payloads: list[str] = field(default_factory=list)  # templates, in turn; none: the key alone
    where: list[list[str]] = field(default_factory=list)  # of GLP: a key and a text each


@dataclass
class TrialPlan:
    seed: int
    mode: str
    brokers: int
    links: Links
    loss: float
    skew: float  # seconds that clocks may be wrong
    disk: float  # the most seconds that a commit takes
    clients: list[ClientPlan]
    rounds: list[list[TrialStep]] = field(default_factory=list)
    is_compressed: bool = False  # two links of three

    def as_text(self) -> str:
        return json.dumps(asdict(self))

    @property
    def group(self) -> str:
        """The shared filter that members subscribe to in a plan with roaming clients."""
        return "$share/crew/" + GROUP_FILTERS[self.seed % len(GROUP_FILTERS)]

    @property
    def members(self) -> list[str]:
        """Every other client, but never all."""
        return [client.name for client in self.clients[1::2]]

    @property
    def is_roaming(self) -> bool:
        """Whether clients move from broker to broker, and some share a group. Read from the steps,
        so that a plan that was made smaller is still one."""
        return any(
            step.verb == MOVE or step.topic == self.group for steps in self.rounds for step in steps
        )

    @property
    def has_windows(self) -> bool:
        """Whether anybody subscribes to windows of time."""
        return any(is_window_filter(step.topic) for steps in self.rounds for step in steps)

    @property
    def walkers(self) -> set[str]:
        """The clients that say where they are."""
        return {
            str(step.what)
            for steps in self.rounds
            for step in steps
            if step.verb == WALK or list(HERE) in step.where
        }


def read_plan(text: str) -> TrialPlan:
    """What `as_text` wrote."""
    fields = json.loads(text)
    fields.pop("topology", None)  # of plans that were written when there were two
    plan = TrialPlan(**fields)
    plan.clients = [ClientPlan(**each) for each in plan.clients]  # type: ignore[arg-type]
    plan.rounds = [[TrialStep(**step) for step in steps] for steps in plan.rounds]  # type: ignore[arg-type]
    return plan


def make_plan(seed: int, mode: str = "", has_bursts: bool = True) -> TrialPlan:
    """A random mesh and random trouble."""
    random = Random(seed)
    brokers = random.randint(2, 7)
    shape = random.choice(tuple(SHAPES))
    links = SHAPES[shape](random, brokers)
    if shape == "tree":
        random.random()  # it decided something once; without it, every seed would be another mesh
    clients = [
        ClientPlan(
            f"c{number}",
            random.randrange(brokers),
            random.random() < 0.75,
            random.choice((-1, -1, 1, 2)),
            random.random() < 0.2,
        )
        for number in range(random.randint(3, 7))
    ]
    plan = TrialPlan(
        seed,
        mode or random.choice(MODES),
        brokers,
        links,
        random.choice((0.0, 0.0, 0.05)),
        random.choice((0.0, 5.0, 1000.0)),
        random.choice((0.002, 0.02, 0.3)),
        clients,
    )
    troubles = random.choice(TROUBLES)
    for number in range(random.randint(2, 4)):
        steps = _make_round(random, plan, troubles if number else ())
        if not mode:
            steps += _switches(seed, number, brokers)
        if has_bursts:
            steps += _bursts(seed, number, [client.name for client in clients])
        steps.sort(key=lambda step: step.at)
        plan.rounds.append(steps)
    return plan


def _make_round(random: Random, plan: TrialPlan, troubles: tuple[str, ...]) -> list[TrialStep]:
    names = [client.name for client in plan.clients]
    steps: list[TrialStep] = []
    for _ in range(random.randint(2, 10)):
        verb = "subscribe" if random.random() < 0.6 else "unsubscribe"
        steps.append(
            TrialStep(
                *(draw_moment(random), verb, random.choice(names), draw_filter(random)),
                qos=random.randint(0, 2),
            )
        )
    for _ in range(random.choice((5, 20, 60))):
        steps.append(
            TrialStep(
                draw_moment(random),
                "publish",
                random.choice(names),
                draw_topic(random),
                random.choice((0, 1, 2, 2)),
                random.random() < 0.2,
            )
        )
    if random.random() < 0.3:
        at, name = draw_moment(random), random.choice(names)
        steps.append(TrialStep(at, "clear", name, draw_topic(random)))
    for _ in range(random.choice((0, 3, 10)) if troubles else 0):
        trouble = _trouble(random, plan, random.choice(troubles))
        if trouble is None:
            continue
        steps.append(trouble)
        if trouble.verb == "cut" and "crash" in troubles:
            steps.append(_worse(random, plan, trouble))
    steps.sort(key=lambda step: step.at)
    return steps


def _trouble(random: Random, plan: TrialPlan, verb: str) -> TrialStep | None:
    at = draw_moment(random)
    seconds = random.choice((0.0, 0.05, 0.5, 3.0))
    if verb == "crash":
        return TrialStep(at, verb, random.randrange(plan.brokers), seconds=seconds)
    if verb == "drop":
        return TrialStep(at, verb, random.choice(plan.clients).name, seconds=seconds)
    if verb == "split":
        side = [n for n in range(plan.brokers) if random.random() < 0.5]
        return TrialStep(at, verb, ",".join(map(str, side)), seconds=random.choice((0.5, 3.0)))
    if verb in ("leave", "join"):
        leaver = _leaver(plan)
        return TrialStep(at, verb, leaver) if leaver >= 0 else None
    return TrialStep(at, verb, random.randrange(len(plan.links)), seconds=seconds)


def _leaver(plan: TrialPlan) -> int:
    """A broker without clients, without which all others are still joined; -1 if there is none."""
    serving = {client.broker for client in plan.clients}
    for number in range(plan.brokers):
        rest = [n for n in range(plan.brokers) if n != number]
        if number not in serving and are_joined(plan.links, rest):
            return number
    return -1


def _worse(random: Random, plan: TrialPlan, cut: TrialStep) -> TrialStep:
    """A broker at the link goes down while the two are finding together again."""
    broker = random.choice(plan.links[int(cut.what)])
    at = cut.at + cut.seconds + random.uniform(0.0, 0.5)
    return TrialStep(round(at, 4), "crash", broker, seconds=random.choice((0.0, 0.5)))


def draw_moment(random: Random) -> float:
    """Often close together: trouble is where things happen at the same time."""
    base = random.choice((0.5, 1.0, 2.0, 4.0))
    return round(min(ROUND_SECONDS, base + random.expovariate(4.0)), 4)


def draw_topic(random: Random) -> str:
    levels = [random.choice(NAMES) for _ in range(random.randint(1, MOST_LEVELS))]
    if random.random() < 0.05:
        levels[0] = "$app"
    return "/".join(levels)


def draw_filter(random: Random) -> str:
    levels = draw_topic(random).split("/")
    levels = ["+" if random.random() < 0.3 else level for level in levels]
    if random.random() < 0.3:
        levels[-1] = "#"
    return "/".join(levels)


def _switches(seed: int, number: int, brokers: int) -> list[TrialStep]:
    """Changes of the mode in a round: at any moment, on any broker, several at once. They have a
    stream of their own, so that nothing else depends on them."""
    random = Random(f"switches of {seed} in {number}")
    steps: list[TrialStep] = []
    for _ in range(random.choice((0, 0, 1, 3)) if seed % 2 else 0):
        at = round(random.uniform(0.0, ROUND_SECONDS), 4)
        steps.append(TrialStep(at, "switch", random.randrange(brokers), random.choice(MODES)))
    return steps


def _bursts(seed: int, number: int, names: list[str]) -> list[TrialStep]:
    """Publishers that send much on one topic at once: mostly at one QoS, so that a broker can take
    it as a run, sometimes at several, so that it has to find where a run ends."""
    random = Random(f"bursts of {seed} in {number}")
    steps: list[TrialStep] = []
    for _ in range(random.choice((0, 1, 2, 5))):
        size = random.choice(BURST_SIZES)
        qoses = random.choice(("0", "1", "1", "2", "2", "12", "012"))
        burst = "".join(sorted(random.choice(qoses) for _ in range(size)))
        steps.append(
            TrialStep(
                *(draw_moment(random), "burst", random.choice(names), draw_topic(random)),
                retain=random.random() < 0.05,
                burst=burst,
            )
        )
    return steps


# Clients that move, and groups -----------------------------------------------------------------


def make_roaming_plan(seed: int, mode: str = "", has_bursts: bool = True) -> TrialPlan:
    """The plan of that seed, in which some clients also go from broker to broker, and some are
    members of one shared group and subscribe to nothing else."""
    plan = make_plan(seed, mode, has_bursts)
    random = Random(f"joint {seed}")
    members = plan.members
    for client in plan.clients:
        client.no_local = False  # a broker does not know who published what came from another
        if client.name in members or random.random() < 0.5:
            client.lasting = True
    rovers = [client.name for client in plan.clients if client.lasting]
    churning = members[1:] if random.random() < 0.5 else []
    for number, steps in enumerate(plan.rounds):
        steps[:] = [
            step
            for step in steps
            # Any broker may be visited, so none is away for long.
            if step.verb not in ("leave", "join")
            and not (step.verb in ("subscribe", "unsubscribe") and step.what in members)
        ]
        if number == 0:
            steps += [TrialStep(0.1, "subscribe", each, plan.group, 2) for each in members]
        else:
            steps += _moves(random, rovers, plan.brokers)
            steps += _churn(random, churning, plan.group)
        steps.sort(key=lambda step: step.at)
    return plan


def _moves(random: Random, rovers: list[str], brokers: int) -> list[TrialStep]:
    steps: list[TrialStep] = []
    for _ in range(random.choice((0, 1, 4)) if rovers else 0):
        at = round(random.choice((0.5, 1.0, 2.0, 4.0)) + random.expovariate(4.0), 4)
        steps.append(TrialStep(at, MOVE, random.choice(rovers), str(random.randrange(brokers))))
    return steps


def _churn(random: Random, members: list[str], group: str) -> list[TrialStep]:
    steps: list[TrialStep] = []
    for member in members:
        verb = random.choice(("subscribe", "unsubscribe"))
        steps.append(TrialStep(round(random.uniform(0.5, 5.0), 4), verb, member, group, 2))
    return steps


# Shapes: who dials whom. Every shape is connected. ---------------------------------------------


def tree(random: Random, brokers: int) -> Links:
    return [_pair(random, number, random.randrange(number)) for number in range(1, brokers)]


def ring(random: Random, brokers: int) -> Links:
    links = [_pair(random, number, number - 1) for number in range(1, brokers)]
    return [*links, _pair(random, 0, brokers - 1)]


def grid(random: Random, brokers: int) -> Links:
    """Two rows, the lower one perhaps shorter."""
    columns = (brokers + 1) // 2
    rows = [_pair(random, n, n + 1) for n in range(brokers - 1) if (n + 1) % columns]
    return rows + [_pair(random, n, n + columns) for n in range(brokers - columns)]


def graph(random: Random, brokers: int) -> Links:
    """A tree and some links more, the same pair twice now and then."""
    links = tree(random, brokers)
    for _ in range(random.randint(1, brokers)):
        one = random.randrange(brokers)
        other = random.randrange(brokers)
        if one != other:
            links.append([one, other])
    return links


def _pair(random: Random, one: int, other: int) -> list[int]:
    return [one, other] if random.random() < 0.5 else [other, one]


SHAPES: dict[str, Callable[[Random, int], Links]] = {
    "tree": tree,
    "ring": ring,
    "grid": grid,
    "graph": graph,
}


def are_joined(links: Links, brokers: list[int]) -> bool:
    """Whether these brokers are, without help of others."""
    inside = {frozenset(link) for link in links if set(link) <= set(brokers)}
    return all(_path(inside, brokers[0], other) for other in brokers[1:])


def is_firm(links: Links, one: int, other: int) -> bool:
    """Whether one way and no other joins these two: each link on it is a bridge."""
    pairs = {frozenset(link) for link in links}
    path = _path(pairs, one, other)
    return all(not _path(pairs - {link}, *sorted(link)) for link in path)


def _path(pairs: set[frozenset[int]], one: int, other: int) -> list[frozenset[int]]:
    """Some way, as the links on it."""
    ways: dict[int, list[frozenset[int]]] = {one: []}
    waiting = [one]
    while waiting:
        here = waiting.pop()
        for pair in sorted(pairs, key=sorted):
            if here in pair:
                (there,) = pair - {here}
                if there not in ways:
                    ways[there] = [*ways[here], pair]
                    waiting.append(there)
    return ways.get(other, [])
