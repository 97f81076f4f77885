"""What happens in a trial, as data: who is where, and what befalls them when.

A plan is made from a seed. As text it is the trace that repeats a failure, and can be made smaller
by leaving steps out.
"""

import json
from dataclasses import asdict, dataclass, field
from random import Random

from gossamer.mesh.settings import GRAPH, MODES, TREE
from gossamer_lab.trials.shapes import SHAPES, are_joined
from gossamer_lab.trials.switches import switches

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


@dataclass
class TrialPlan:
    """`links` are pairs of brokers, of which the first dials; a pair may be there twice."""

    seed: int
    mode: str
    topology: str
    brokers: int
    links: list[list[int]]
    loss: float
    skew: float  # seconds that clocks may be wrong
    disk: float  # the most seconds that a commit takes
    clients: list[ClientPlan]
    rounds: list[list[TrialStep]] = field(default_factory=list)

    def as_text(self) -> str:
        return json.dumps(asdict(self))


def read_plan(text: str) -> TrialPlan:
    """What `as_text` wrote."""
    plan = TrialPlan(**json.loads(text))
    plan.clients = [ClientPlan(**each) for each in plan.clients]  # type: ignore[arg-type]
    plan.rounds = [[TrialStep(**step) for step in steps] for steps in plan.rounds]  # type: ignore[arg-type]
    return plan


def make_plan(seed: int, mode: str = "", shape: str = "") -> TrialPlan:
    """A random mesh and random trouble."""
    random = Random(seed)
    brokers = random.randint(2, 7)
    shape = shape or random.choice(tuple(SHAPES))
    links = SHAPES[shape](random, brokers)
    is_promised = shape == "tree" and random.random() < 0.3
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
        TREE if is_promised else GRAPH,
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
            for at, broker, other in switches(seed, number, brokers, ROUND_SECONDS):
                steps.append(TrialStep(at, "switch", broker, other))
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
                _moment(random), verb, random.choice(names), _filter(random), random.randint(0, 2)
            )
        )
    for _ in range(random.choice((5, 20, 60))):
        steps.append(
            TrialStep(
                _moment(random),
                "publish",
                random.choice(names),
                _topic(random),
                random.choice((0, 1, 2, 2)),
                random.random() < 0.2,
            )
        )
    if random.random() < 0.3:
        steps.append(TrialStep(_moment(random), "clear", random.choice(names), _topic(random)))
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
    at = _moment(random)
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


def _moment(random: Random) -> float:
    """Often close together: trouble is where things happen at the same time."""
    base = random.choice((0.5, 1.0, 2.0, 4.0))
    return round(min(ROUND_SECONDS, base + random.expovariate(4.0)), 4)


def _topic(random: Random) -> str:
    levels = [random.choice(NAMES) for _ in range(random.randint(1, MOST_LEVELS))]
    if random.random() < 0.05:
        levels[0] = "$app"
    return "/".join(levels)


def _filter(random: Random) -> str:
    levels = _topic(random).split("/")
    levels = ["+" if random.random() < 0.3 else level for level in levels]
    if random.random() < 0.3:
        levels[-1] = "#"
    return "/".join(levels)
