"""Rules, areas and clients that walk, beside whatever else a plan has.

They have a stream of their own, and nothing that the plan had changes: a seed fails with them, or
without. Values come as numbers, as fields of JSON documents, as text and as what is none of these;
places as positions and as areas, which stand or follow. A subscription to areas comes again with
others, under the same ids, so that each SUBSCRIBE takes the place of the one before.
"""

import math
from random import Random
from typing import Final

from gossamer.geo.earth import Point, destination, wrapped
from gossamer_lab.trials.conditions import HERE
from gossamer_lab.trials.plan import (
    BURST_SIZES,
    MOVE,
    WALK,
    TrialPlan,
    TrialStep,
    draw_filter,
    draw_moment,
    draw_topic,
)
from gossamer_lab.trials.publications import KEY_DIGITS, WHOLE_KEY

# A town, the antimeridian at the equator, and a pole.
ANCHORS: Final = (Point(43.72, 10.40), Point(0.001, 179.999), Point(89.995, 10.0))
DISTANCES: Final = (0.0, 300.0, 900.0, 2_700.0)  # metres from there, of all that is anywhere
RADII: Final = (1.0, 310.0, 1_000.0, 3_000.0)
VALUES: Final = (-1, 0, 20, 29, 30, 31)
FIELD: Final = "v"
# Numbers that are fields of documents, and what is there instead of one.
FIELDS: Final = ("30", "30.0", "3e1", "31", "20", "-0.0", '"30"', '"31"', "true", "null", "1e999")
BARE: Final = ("30", "30.0", " 3e1", "0", "-0.0", "31", "1e999", "NaN", "warm")
WORDS: Final = ("warm", "cold")
# The areas of a subscription, in their order; those in capitals follow their client.
STANDING: Final = (("circle",), ("circle", "hole"), ("rectangle",), ("polygon",))
FOLLOWING: Final = (
    ("CIRCLE",),
    ("CIRCLE",),
    ("CIRCLE", "hole"),
    ("RECTANGLE", "circle"),
    ("here",),
)


def with_operators(plan: TrialPlan) -> TrialPlan:
    """The plan itself, with more steps."""
    random = Random(f"operators of {plan.seed}")
    anchor = random.choice(ANCHORS)
    # Who has moved is known by message what it had, not by subscription: it has no conditions here.
    others = {step.what for steps in plan.rounds for step in steps if step.verb == MOVE}
    others.update(plan.members if plan.is_roaming else ())
    takers = [client.name for client in plan.clients if client.name not in others]
    if not takers:
        return plan
    # The same filter with areas and without them is one subscription, and oracles have two.
    plain = {
        (step.what, step.topic)
        for steps in plan.rounds
        for step in steps
        if step.verb == "subscribe"
    }
    asked: dict[tuple[str, str], tuple[str, ...]] = {}  # the kinds of areas, by client and filter
    walkers = [name for name in takers if random.random() < 0.5]
    for steps in plan.rounds:
        for _ in range(random.choice((2, 4, 8))):
            name = random.choice(takers)
            if random.random() < 0.5:
                filter = _rules(random) + "/" + draw_filter(random)
                steps.append(
                    TrialStep(draw_moment(random), "subscribe", name, filter, random.randint(0, 2))
                )
                continue
            filter = draw_filter(random)
            sets = FOLLOWING + STANDING if name in walkers else STANDING
            kinds = asked.setdefault((name, filter), random.choice(sets))
            if (name, filter) not in plain:
                where = [_area(random, anchor, kind, at + 1) for at, kind in enumerate(kinds)]
                steps.append(
                    TrialStep(
                        *(draw_moment(random), "subscribe", name, filter, random.randint(0, 2)),
                        where=where,
                    )
                )
        for _ in range(random.choice((0, 2, 6)) if walkers else 0):
            steps.append(
                TrialStep(
                    draw_moment(random), WALK, random.choice(walkers), _position(random, anchor)
                )
            )
        for _ in range(random.choice((5, 15, 40))):
            steps.append(_publication(random, plan, anchor, walkers))
        steps.sort(key=lambda step: step.at)
    return plan


def _rules(random: Random) -> str:
    return "".join(_rule(random) for _ in range(random.choice((1, 1, 1, 2))))


def _rule(random: Random) -> str:
    keyword = random.choice(("GT", "GT", "GTE", "LT", "LTE", "EQ", "NEQ", "CONTAINS"))
    if keyword == "CONTAINS" or (keyword in ("EQ", "NEQ") and random.random() < 0.3):
        operand = random.choice((*WORDS, "arm", "c", "3"))
    else:
        operand = str(random.choice(VALUES))
    return f"${keyword};{operand}" + (f";{FIELD}" if random.random() < 0.4 else "")


def _publication(random: Random, plan: TrialPlan, anchor: Point, walkers: list[str]) -> TrialStep:
    name = random.choice(plan.clients).name
    step = TrialStep(draw_moment(random), "publish", name, draw_topic(random))
    step.qos = random.choice((0, 1, 2, 2))
    step.retain = random.random() < 0.1
    if random.random() < 0.2:  # many numbers in one chunk: with no properties brokers make runs
        step.verb = "burst"
        step.burst = random.choice("012") * random.choice(BURST_SIZES)
        step.payloads = [_number(random) for _ in range(5)]
        return step
    step.payloads = [random.choice((_number, _document, _text, _bare))(random)]
    if random.random() < 0.5:
        step.where = _place(random, anchor, name in walkers)
    return step


def _number(random: Random) -> str:
    return f"{random.choice(VALUES)}.{KEY_DIGITS}"


def _document(random: Random) -> str:
    value = "" if random.random() < 0.1 else f'"{FIELD}":{random.choice(FIELDS)},'
    end = "" if random.random() < 0.1 else "}"  # cut short now and then
    return f'{{{value}"s":"{random.choice(WORDS)}","k":"{WHOLE_KEY}"{end}'


def _text(random: Random) -> str:
    return f"{random.choice(WORDS)} {WHOLE_KEY}"


def _bare(random: Random) -> str:
    return random.choice(BARE)


# Places ------------------------------------------------------------------------------------------


def _point(random: Random, anchor: Point) -> Point:
    """One of a few, so that the same place is meant often."""
    turn = random.randrange(6) * math.pi / 3
    return destination(anchor, turn, random.choice(DISTANCES))


def _written(point: Point) -> str:
    return f"{point.lat:.7f};{wrapped(point.lon):.7f}"


def _position(random: Random, anchor: Point) -> str:
    return _written(_point(random, anchor))


def _place(random: Random, anchor: Point, is_walker: bool) -> list[list[str]]:
    """What a publication is about. Walkers say where they are in other ways: what is sent again
    after a walk would take them back."""
    if is_walker or random.random() < 0.3:
        kinds = random.choice((("circle",), ("rectangle",), ("polygon",), ("circle", "hole")))
        return [_area(random, anchor, kind, at + 1) for at, kind in enumerate(kinds)]
    where = [["gpl_current_pos", _position(random, anchor)]]
    return [*where, _area(random, anchor, "CIRCLE", 1)] if random.random() < 0.3 else where


def _area(random: Random, anchor: Point, kind: str, number: int) -> list[str]:
    centre = _point(random, anchor)
    size = random.choice(RADII)
    add = 0 if kind == "hole" else 1
    head = f"{number};m;{add}"
    if kind == "here":
        return list(HERE)
    if kind == "CIRCLE":
        return ["gpl_circleDynamic", f"{head};{size}"]
    if kind == "RECTANGLE":
        return ["gpl_rectangleDynamic", f"{head};{size};{2 * size}"]
    if kind == "rectangle":
        return ["gpl_rectangleStatic", f"{head};{_written(centre)};{size};{2 * size}"]
    if kind == "polygon":
        corners = [destination(centre, turn, size + 5.0) for turn in (0.1, 2.0, 4.5)]
        return ["gpl_polygonStatic", f"{head};{';'.join(map(_written, corners))}"]
    return ["gpl_circleStatic", f"{head};{_written(centre)};{size}"]
