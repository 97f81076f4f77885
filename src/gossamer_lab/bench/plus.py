"""``gossamer bench plus``: what MQTT+ costs the broker and saves its links.

Everything runs in simulated time on the broker's core, and the bytes are those of MQTT packets. The
two scenarios are the paper's, and so are equations 2 to 6. RPT is compared with equation 4 with the
separator counted: the paper's W·m leaves out the `;` between the names, which are one byte to their
eight.
"""

import time
import tracemalloc
from dataclasses import dataclass

from rich.progress import Progress
from rich.table import Table

from gossamer.broker.broker import Broker
from gossamer.broker.ports import ProcessorPort
from gossamer.plus.engine import Engine
from gossamer.plus.jobs import Job
from gossamer.plus.operators.kinds import ProcessorKind
from gossamer.plus.publication import Publication
from gossamer.plus.state import OperatorState
from gossamer.plus.vocabulary import Vocabulary
from gossamer.topics.names import matches
from gossamer_lab import tables
from gossamer_lab.bench.harness import Quick
from gossamer_lab.bench.loopback import LoopbackClient, publication, quiet_broker, run_plain
from gossamer_lab.tables import records

SENSORS = 10_000
OPERATORS = 1_000
OPERATORS_OF_A_SENSOR = (1, 2, 5, 10)
TARGET_RATE = 200_000  # publications a second
PLAIN_SUBSCRIBERS = 5

ENGINE_COLUMNS = {
    "operators of a sensor": "{.each}",
    "publications/s": "{.rate:,.0f}",
    "operator updates/s": "{.updates:,.0f}",
    "results": "{.results:,}",
}
TRAFFIC_COLUMNS = {
    "way": "{.way}",
    "sensors": "{.sensors}",
    "downlink bytes": "{.downlink:,}",
    "equation": "{.expected:,.0f}",
    "deviation": "{.deviation:+.1%}",
    "CPU s": "{.cpu_seconds:.2f}",
    "memory KiB": "{.peak_kib:,.0f}",
}
PLAIN_COLUMNS = {
    "operators": "{.others:,}",
    "deliveries/s without": "{.without:,.0f}",
    "deliveries/s beside": "{.beside:,.0f}",
    "lost": "{.loss:.1%}",
}

# What the dashboards of a building would ask.
CHAINS = (
    "$AVG",
    "$MAX",
    "$GT;28",
    "$QUARTERHOURLYAVG",
    "$HOURLYMAX",
    "$AVG$QUARTERHOURLYAVG",
    "$COUNT$GT;25",
    "$HOURLYP95",
    "$GT;29$MIN",
    "$SUM$HOURLYCOUNT",
)
SENSOR_RATE = 10.0  # publications a second of each sensor, in simulated time

SENSOR_PERIOD = 20.0  # seconds between two publications of a sensor
WINDOW = 900.0
NUMERIC = "numeric/polimi/deib/room1"
IMAGES = "image/polimi/deib/room1"
PUBLISH_BYTES = 44  # P: header, topic and payload of one sensor's publication
NAME_BYTES = 8  # W: a sensor's identifier
SEPARATOR_BYTES = 1
OPERATOR = "$AVG$QUARTERHOURLYAVG"
OPERATOR_RPT = "$AVG;RPT$QUARTERHOURLYAVG"
IMAGE_BYTES = 4_400  # I: a hundred times P
PEOPLE = b"12"

# Two payloads of six bytes around a mean of six bytes, so that K is the same for every message.
READINGS = (b"22.250", b"22.500")


def plus(quick: Quick = False) -> None:
    """Measure the operators on one core, in simulated time and without sockets."""
    console = tables.console()
    shrink = 20 if quick else 1
    steps = (_engine, _numeric, _images, _plain)
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("measuring", total=len(steps))
        found = []
        for step in steps:
            found.append(step(shrink))
            progress.advance(task)
    for one in found:
        console.print(one)


def _engine(shrink: int) -> Table:
    runs = [
        run_engine(SENSORS, OPERATORS, each, 1_000_000 // shrink // each)
        for each in OPERATORS_OF_A_SENSOR
    ]
    title = (
        f"Operator engine: {SENSORS:,} sensors at 10 Hz, {OPERATORS:,} operator subscriptions "
        f"(target {TARGET_RATE:,}/s)"
    )
    return records(title, ENGINE_COLUMNS, runs, left=0)


def _numeric(shrink: int) -> Table:
    runs = [
        run_numeric(way, sensors, 10, 4)
        for sensors in (10, 100, 1000 if shrink == 1 else 200)
        for way in ("MQTT", "SKR", "RPT")
    ]
    title = "Averages of numbers (Figure 2), one hour, 10 subscribers"
    return records(title, TRAFFIC_COLUMNS, runs, left=0)


def _images(shrink: int) -> Table:
    runs = [
        run_images(way, cameras, 10, 180 // shrink)
        for cameras in (10, 50)
        for way in ("MQTT", "CNTPPL")
    ]
    title = "People in images (Figure 3), 10 subscribers, without the recogniser"
    return records(title, TRAFFIC_COLUMNS, runs, left=0)


def _plain(shrink: int) -> Table:
    run = run_plain(OPERATORS, _subscribe_operators, 400_000 // shrink, PLAIN_SUBSCRIBERS)
    title = "Plain subscriptions beside operators on other topics (target: under 3 % lost)"
    return records(title, PLAIN_COLUMNS, [run], left=0)


def _subscribe_operators(broker: Broker) -> None:
    dashboard = LoopbackClient(broker, "dashboard")
    for number in range(OPERATORS):
        dashboard.subscribe(f"$AVG/room{number}/+")


# The engine alone -------------------------------------------------------------------------------


@dataclass(frozen=True)
class EngineRun:
    sensors: int
    operators: int
    each: int  # operators that read one sensor
    publications: int
    results: int
    seconds: float

    @property
    def rate(self) -> float:
        """Publications a second."""
        return self.publications / self.seconds

    @property
    def updates(self) -> float:
        """Of operators, a second."""
        return self.rate * self.each


def run_engine(sensors: int, operators: int, each: int, publications: int) -> EngineRun:
    """Every sensor publishes in turn and is read by `each` operators, those of its room."""
    engine = Engine()
    rooms = operators // each
    states = [
        engine.subscribe(engine.parse(f"{CHAINS[number % len(CHAINS)]}/room{number % rooms}/+"))
        for number in range(rooms * each)
    ]
    topics = [f"room{number % rooms}/sensor{number}" for number in range(sensors)]
    routes = _routes(topics, states)
    payloads = [f"{20 + number % 113 / 10:.1f}".encode() for number in range(1009)]
    step = 1.0 / (sensors * SENSOR_RATE)
    now = 0.0
    results = 0
    begun = time.process_time()
    for number in range(publications):
        at = number % sensors
        publication = Publication(topics[at], payloads[number % 1009])
        for state in routes[at]:
            results += len(state.accept(publication, now))
        now += step
        if engine.next_due() <= now:
            results += len(engine.tick(now))
    seconds = time.process_time() - begun
    return EngineRun(sensors, len(states), each, publications, results, seconds)


def _routes(topics: list[str], states: list[OperatorState]) -> list[list[OperatorState]]:
    """What the broker's route cache would answer."""
    by_room: dict[str, list[OperatorState]] = {}
    for topic in topics:
        room = topic.partition("/")[0]
        if room not in by_room:
            by_room[room] = [state for state in states if matches(state.plan.filter, topic)]
    return [by_room[topic.partition("/")[0]] for topic in topics]


# The paper's scenarios --------------------------------------------------------------------------


@dataclass(frozen=True)
class TrafficRun:
    scenario: str
    way: str  # MQTT, SKR or RPT
    sensors: int
    subscribers: int
    downlink: int  # bytes, measured
    expected: float  # bytes, by the equation
    cpu_seconds: float
    peak_kib: float  # of memory that the core took at most

    @property
    def deviation(self) -> float:
        """Of what was measured from the equation, as a share."""
        return self.downlink / self.expected - 1.0


class _SeesTwelve(ProcessorPort):
    """Stands in for a recogniser: the bytes do not depend on which it is."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.now = 0.0

    def start(self, job: Job) -> None:
        self.broker.core.operators.processed(job, PEOPLE, self.now)


def run_numeric(way: str, sensors: int, subscribers: int, windows: int) -> TrafficRun:
    """Scalar measurements, averaged over 15 minutes and over the sensors (Figure 2)."""
    filters = {
        "MQTT": f"{NUMERIC}/+",
        "SKR": f"{OPERATOR}/{NUMERIC}/+",
        "RPT": f"{OPERATOR_RPT}/{NUMERIC}/+",
    }
    duration = windows * WINDOW
    packets = [
        publication(f"{NUMERIC}/{number:0{NAME_BYTES}d}", READINGS[number % 2])
        for number in range(sensors)
    ]
    downlink, cpu, peak = _run(filters[way], packets, subscribers, duration)
    rate = 1.0 / SENSOR_PERIOD
    if way == "MQTT":
        expected = rate * duration * sensors * subscribers * PUBLISH_BYTES  # (2)
    else:
        result = PUBLISH_BYTES + len(OPERATOR if way == "SKR" else OPERATOR_RPT)  # (4)
        if way == "RPT":
            result += (NAME_BYTES + SEPARATOR_BYTES) * sensors
        expected = windows * subscribers * result  # (3)
    return TrafficRun("numeric", way, sensors, subscribers, downlink, expected, cpu, peak)


def run_images(way: str, cameras: int, subscribers: int, rounds: int) -> TrafficRun:
    """Images, and the number of people in each (Figure 3)."""
    filters = {"MQTT": f"{IMAGES}/+", "CNTPPL": f"$CNTPPL/{IMAGES}/+"}
    names = [f"{IMAGES}/{number:0{NAME_BYTES}d}" for number in range(cameras)]
    header = len(publication(names[0], b""))
    payload = bytes(IMAGE_BYTES - header - 1)  # the longer length takes one byte more
    packets = [publication(name, payload) for name in names]
    downlink, cpu, peak = _run(filters[way], packets, subscribers, rounds * SENSOR_PERIOD)
    each = IMAGE_BYTES if way == "MQTT" else header + len("$CNTPPL/") + len(PEOPLE)
    expected = rounds * cameras * subscribers * each
    return TrafficRun("images", way, cameras, subscribers, downlink, expected, cpu, peak)


def _run(
    filter: str, packets: list[bytes], subscribers: int, duration: float
) -> tuple[int, float, float]:
    """Downlink bytes, processor seconds and KiB of memory at most."""
    downlink, cpu = _pass(filter, packets, subscribers, duration)
    # Again, since counting memory takes time of its own.
    tracemalloc.start()
    _pass(filter, packets, subscribers, duration)
    peak = tracemalloc.get_traced_memory()[1] / 1024
    tracemalloc.stop()
    return downlink, cpu, peak


def _pass(
    filter: str, packets: list[bytes], subscribers: int, duration: float
) -> tuple[int, float]:
    engine = Engine(Vocabulary(processors=[ProcessorKind("CNTPPL", "counts people", "value")]))
    broker = quiet_broker(engine)
    recogniser = _SeesTwelve(broker)
    broker.core.operators.processors = recogniser
    readers = [LoopbackClient(broker, f"reader{number}") for number in range(subscribers)]
    for reader in readers:
        reader.subscribe(filter)
    writer = LoopbackClient(broker, "writer")
    begun = time.process_time()
    now = 0.0
    while now < duration:
        recogniser.now = now
        for packet in packets:
            writer.send(packet, now)
        now += SENSOR_PERIOD
        broker.tick(now)
    cpu = time.process_time() - begun
    return sum(reader.sink.bytes for reader in readers), cpu
