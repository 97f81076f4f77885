"""The paper's two scenarios: what goes down to the subscribers with and without MQTT+.

Everything runs in simulated time on the broker's core, and the bytes are those of MQTT packets.
Equations 2 to 6 are the paper's. RPT is compared with equation 4 with the separator counted: the
paper's W·m leaves out the `;` between the names, which are one byte to their eight.
"""

import time
import tracemalloc
from dataclasses import dataclass

from gossamer.broker.broker import Broker
from gossamer.broker.processor_port import ProcessorPort
from gossamer.broker.settings import Settings
from gossamer.plus.engine import Engine
from gossamer.plus.jobs import Job
from gossamer.plus.operators.kinds import ProcessorKind
from gossamer.plus.vocabulary import Vocabulary
from gossamer.session.journal import Journal
from gossamer_lab.bench.plus.loopback import LoopbackClient, publication

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
    settings = Settings()
    settings.sys_interval = 0.0
    engine = Engine(Vocabulary(processors=[ProcessorKind("CNTPPL", "counts people", "value")]))
    broker = Broker(settings, Journal(), 0.0, engine)
    workshop = _SeesTwelve(broker)
    broker.core.operators.workshop = workshop
    readers = [LoopbackClient(broker, f"reader{number}", 0.0) for number in range(subscribers)]
    for reader in readers:
        reader.subscribe(filter, 0.0)
    writer = LoopbackClient(broker, "writer", 0.0)
    begun = time.process_time()
    now = 0.0
    while now < duration:
        workshop.now = now
        for packet in packets:
            writer.send(packet, now)
        now += SENSOR_PERIOD
        broker.tick(now)
    cpu = time.process_time() - begun
    return sum(reader.sink.bytes for reader in readers), cpu
