"""Subscriptions that compute: every operator, fences and places."""

import contextlib
from functools import partial

from gossamer.broker.broker import Broker
from gossamer.broker.ports import ProcessorPort
from gossamer.geo.areas import NO_AREAS, GlpError
from gossamer.geo.coverage import coverage_of, read_coverage
from gossamer.geo.coverage import hull as hull_of_coverages
from gossamer.geo.earth import Point
from gossamer.geo.geolocation import NOWHERE, Place
from gossamer.geo.glp import parse
from gossamer.geo.overlap import Effort
from gossamer.plus.encodings import Encodings
from gossamer.plus.engine import Engine
from gossamer.plus.jobs import Job
from gossamer.plus.memory import MemoryLimits
from gossamer.plus.operators.windows import SessionWindow, SlidingWindow, Window
from gossamer.plus.plan import PlusError
from gossamer.plus.predicate import hull as hull_of_predicates
from gossamer.plus.predicate import read_predicate
from gossamer.plus.publication import Publication
from gossamer.plus.registry import AGGREGATES, DEFAULT_WINDOWS, RULES, SEQUENCES
from gossamer.plus.time_zones import zone_of
from gossamer.plus.vocabulary import Vocabulary
from gossamer.session.journal import Journal
from gossamer.topics.cover import WORTH_A_GROUP, Cover
from tests.leaks.message_paths import Paths, send
from tests.support.leakage import Round
from tests.support.located import OSLO, PISA, ROUND_ME, ROUND_OSLO, ROUND_PISA
from tests.support.memory import World
from tests.support.plus import PROCESSORS, VOCABULARY

WINDOWS = (
    *DEFAULT_WINDOWS,
    SlidingWindow("SLIDE", 60.0, 20.0),
    SessionWindow("VISIT", 30.0),
    Window("DAY", 86_400.0, zone_of("Europe/Berlin")),
)
WAITS = {"EVERY": ";10s", "ABSENT": ";10s"}  # those that have to be told a time
FILTERS = {
    **{f"${rule.keyword}": f"${rule.keyword};20/s/+" for rule in RULES.values()},
    **{f"${function.keyword}": f"${function.keyword}/s/+" for function in AGGREGATES.values()},
    **{
        f"${window.keyword}{function.keyword}": f"${window.keyword}{function.keyword}/s/1"
        for window in DEFAULT_WINDOWS[1:2]
        for function in AGGREGATES.values()
    },
    **{
        f"${window.keyword}": f"${window.keyword}{function}/s/1"
        for window, function in zip(WINDOWS[3:], ("AVG", "P95", "LAST"), strict=True)
    },
    "$BY": "$SUM$HOURLYSUM;;v$BY;k/s/+/+",
    **{f"${keyword}": f"${keyword}{WAITS.get(keyword, '')}/s/+" for keyword in SEQUENCES},
    **{
        f"${keyword} inside": f"$SUM$HOURLYSUM${keyword}{WAITS.get(keyword, '')}/s/+"
        for keyword in SEQUENCES
    },
    **{
        f"${keyword} around": f"${keyword}{WAITS.get(keyword, '')}$AVG/s/+" for keyword in SEQUENCES
    },
}


def operator(filter: str) -> Round:
    """Subscribed beside others of its kind, fed over its window, and unsubscribed."""
    world = World()
    world.broker = Broker(world.settings, Journal(), world.now, Engine(Vocabulary(WINDOWS)))
    writer = world.client("w")
    steady = world.client("steady")
    steady.subscribe(filter, qos=1)

    def go() -> None:
        reader = world.client("r")
        reader.subscribe(filter, qos=1)
        for value in ("10", "20", "30", "text 20", '{"k": "a", "v": 3}'):
            for topic in ("s/1", "s/2"):
                writer.publish(topic, value, qos=1)
        writer.take()
        world.wait(3600)
        reader.messages()
        steady.messages()
        reader.unsubscribe(filter)
        reader.disconnect()

    return go


class Desk(ProcessorPort):
    """Keeps the jobs until they are answered."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def start(self, job: Job) -> None:
        self.jobs.append(job)


def processor(keyword: str) -> Round:
    """An operator that somebody else answers, or does not."""
    world = World()
    world.broker = Broker(world.settings, Journal(), world.now, Engine(VOCABULARY))
    desk = Desk()
    world.broker.core.operators.processors = desk
    writer, reader = world.client("w"), world.client("r")
    reader.subscribe(f"${keyword}/camera", qos=1)

    def go() -> None:
        for answer in (b"3", None):
            writer.publish("camera", "an image", qos=1)
            writer.take()
            for job in desk.jobs:
                world.broker.processed(job, answer, world.now)
            desk.jobs.clear()
            world.broker.flush(world.now)
            reader.messages()

    return go


def fenced() -> Round:
    """In and out of a fence."""
    world = World()
    guard, van = world.client("guard"), world.client("van")
    yard = ("gpl_circleStatic", "1;m;1;45;7;100")
    guard.subscribe("fleet/+", qos=1, user=[yard, ("gpl_events", "enter,exit,dwell")])

    def go() -> None:
        for place in ("45.01;7", "45.0005;7", "45.01;7"):
            send(van, [guard], "fleet/van", qos=1, user=[("gpl_current_pos", place)])

    return go


def located() -> Round:
    """Areas that stand, and one that moves with its client."""
    world = World()
    writer = world.client("w")
    steady = world.client("steady")
    steady.subscribe("t", qos=1, user=[ROUND_PISA])

    def go() -> None:
        reader = world.client("r")
        reader.subscribe("t", qos=1, user=[OSLO, ROUND_ME])
        for place in (PISA, OSLO):
            send(writer, [steady, reader], "t", qos=1, user=[place])
        send(writer, [steady, reader], "t", qos=1)
        reader.publish("r/position", "", user=[PISA])
        send(writer, [steady, reader], "t", qos=1, user=[PISA])
        reader.disconnect()
        world.wait(1.0)

    return go


def located_operators() -> Round:
    """Around a client that comes, moves, asks for another area and goes."""
    world = World()
    writer = world.client("w")

    def go() -> None:
        reader = world.client("r")
        for filter in ("$SUM/+/t", "$GT;1/+/t", "$DAILYAVG/+/t"):
            reader.subscribe(filter, qos=1, user=[PISA, ROUND_ME])
        for place in (PISA, OSLO):
            writer.publish("a/t", "5", qos=1, user=[place])
        writer.take()
        reader.publish("position", "", user=[OSLO])
        reader.subscribe("$SUM/+/t", qos=1, user=[ROUND_OSLO])
        reader.subscribe("$SUM/+/t", qos=1, user=[("gpl_circleDynamic", "3;km;0;5")])
        reader.messages()
        reader.disconnect()
        world.wait(400.0)
        world.wait(400.0)

    return go


def named_areas() -> Round:
    """Put, followed, changed, removed; and fence events of who goes there."""
    world = World()
    writer = world.client("w")
    boxes = [
        f'{{"type":"Polygon","coordinates":[[[{lon},43],[{lon + 1},43],[{lon},44],[{lon},43]]]}}'
        for lon in (10, 20)
    ]

    def go() -> None:
        places = world.broker.core.places
        places.put("yard", boxes[0], "administrator", world.now)
        reader = world.client("r")
        named = ("gpl_area", "yard")
        reader.subscribe("a/+", user=[named, ("gpl_events", "enter,exit,dwell")])
        reader.subscribe("$SUM/+/t", user=[named])
        for place in (PISA, OSLO, PISA):
            writer.publish("a/t", "5", user=[place])
            world.wait(1.0)
        places.put("yard", boxes[1], "administrator", world.now)
        world.broker.flush(world.now)
        places.remove("yard", world.now)
        reader.messages()
        reader.disconnect()
        world.wait(400.0)
        world.wait(400.0)

    return go


def predicates() -> Round:
    """Read, compared, merged and asked."""
    chains = ("$GT;30$LT;50", "$GTE;20$LT;40", "$EQ;on;state", "$CONTAINS;alarm$NEQ;false alarm")

    def go() -> None:
        read = [read_predicate(chain) for chain in chains]
        for one in read:
            for other in read:
                one.implies(other)
                one.passes(Publication("t", b"35"))
        hull_of_predicates(read[:2])
        with contextlib.suppress(PlusError):
            read_predicate("$GT;x")

    return go


def remembered() -> Round:
    """Published, remembered, taken up by operators of each kind, and over with the window; also in
    another encoding."""
    world = World()
    engine = Engine(Vocabulary(WINDOWS))
    engine.remember(MemoryLimits(["s/#"], 100, 1 << 20))
    engine.services.encodings = Encodings({"s/2": "cbor", "s/3": "sparkplug"})
    world.broker = Broker(world.settings, Journal(), world.now, engine)
    writer = world.client("w")
    filters = ("$SUM;RPT/s/1;2", "$LAST/s/+", "$GT;1/s/#", "$HOURLYP95/s/+", "$AVG;;m/s/+")

    def go() -> None:
        for number, value in enumerate(("10", "\x18", "\x12\x05\x0a\x01mP\x07", "text"), 1):
            writer.publish(f"s/{number}", value, qos=1, message_expiry=10)
        reader = world.client("r")
        reader.subscribe(*filters, qos=1)
        writer.publish("s/1", "20", qos=1)
        writer.take()
        world.wait(7200)
        reader.messages()
        reader.unsubscribe(*filters)
        reader.disconnect()

    return go


def coverages() -> Round:
    """Made, read, compared, merged and asked."""
    glp = parse([ROUND_PISA, ROUND_OSLO, ROUND_ME, ("gpl_polygonStatic", "7;m;1;1;2;1;3;2;3")])
    assert glp is not None
    areas = NO_AREAS.changed(glp.areas)
    here = Point(43.7, 10.4)

    def go() -> None:
        made = [coverage_of(areas, here, margin) for margin in (0.0, 50.0)]
        made.append(read_coverage(made[0].text))
        merged = hull_of_coverages(made, 2)
        for one in made:
            merged.contains(one)
            one.meets(Place(here, NOWHERE, here), Effort())
        with contextlib.suppress(GlpError):
            read_coverage("gpl_circleStatic=1")

    return go


def covers() -> Round:
    """The widest of many filters, taken out while few and many others hang below them."""
    cover = Cover()
    cover.add("#")

    def go() -> None:
        few = [f"a/few/{number}" for number in range(4)]
        many = [f"a/many/{number}" for number in range(2 * WORTH_A_GROUP)]
        for filter in ("a/few/#", "a/many/#", "a/#", *few, *many):
            cover.add(filter)
        for filter in ("a/many/#", "a/#"):  # one that hangs itself
            cover.remove(filter)
        cover.remove("#")
        cover.remove("a/few/#")
        cover.add("#")
        for filter in few + many:
            cover.remove(filter)

    return go


COMPUTING: Paths = {
    **{name: partial(operator, filter) for name, filter in FILTERS.items()},
    **{f"${kind.keyword}": partial(processor, kind.keyword) for kind in PROCESSORS},
    "fence events": fenced,
    "areas and positions": located,
    "operators with areas": located_operators,
    "places by name": named_areas,
    "what is remembered": remembered,
    "predicates": predicates,
    "coverages": coverages,
    "covers of filters": covers,
}
