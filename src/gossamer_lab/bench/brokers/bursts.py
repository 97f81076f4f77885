"""The scenarios that send in bursts: what is published to whom, at which QoS, in which window."""

from collections.abc import Sequence

from gossamer_lab.bench.brokers import mqtt
from gossamer_lab.bench.brokers.flow import LoadGroup, measure
from gossamer_lab.bench.brokers.link import BenchLink, open_link, subscribe
from gossamer_lab.bench.brokers.measurement import BenchTarget, Measurement

PAYLOAD = b"x" * 64

# Small enough that no broker's default queue overflows, large enough that none runs dry.
BURST = 500
BURST_WINDOW = 8 * BURST
FAN_OUT_BURST = 100
FAN_OUT_WINDOW = 4 * FAN_OUT_BURST
PAIR_BURST = 50
PAIR_WINDOW = 4 * PAIR_BURST

PAIRS = 20
FAN_OUT = 50
AREAS, SENSORS = 50, 20


def chunks(topics: Sequence[str], batch: int, qos: int, count: int) -> list[bytes]:
    """``count`` chunks of ``batch`` messages over the topics in turn, with packet ids in turn."""
    packets = [
        mqtt.publish(topics[i % len(topics)], PAYLOAD, qos, i + 1) for i in range(batch * count)
    ]
    return [b"".join(packets[i : i + batch]) for i in range(0, len(packets), batch)]


def one_to_many(target: BenchTarget, receivers: int, batch: int, window: int) -> Measurement:
    topic = "bench/burst"
    subscribers = [open_link(target.address, f"s{i}") for i in range(receivers)]
    for link in subscribers:
        subscribe(link, [topic], 0)
    publisher = open_link(target.address, "p")
    load = chunks([topic], batch, 0, 1)
    return measure(
        [LoadGroup(publisher, subscribers, load, batch, window, receivers, 0, topic)], target
    )


def one_to_one(target: BenchTarget) -> Measurement:
    return one_to_many(target, 1, BURST, BURST_WINDOW)


def one_to_fifty(target: BenchTarget) -> Measurement:
    return one_to_many(target, FAN_OUT, FAN_OUT_BURST, FAN_OUT_WINDOW)


def paired(
    target: BenchTarget,
    listening: tuple[str, int],
    prefix: str,
    qos: int,
    count: int,
    burst: int,
    window: int,
) -> list[LoadGroup]:
    """Publishers at the target, each with a subscriber of its own at ``listening``."""
    groups = []
    for number in range(count):
        topic = f"{prefix}/{number:03d}"
        subscriber = open_link(listening, f"s{number}")
        subscribe(subscriber, [topic], qos)
        publisher = open_link(target.address, f"p{number}")
        # Twice the window of packet ids: none is used again before it is free.
        load = chunks([topic], burst, qos, 2 * window // burst)
        groups.append(LoadGroup(publisher, [subscriber], load, burst, window, 1, qos, topic))
    return groups


def pairs(target: BenchTarget, qos: int) -> Measurement:
    groups = paired(target, target.address, "bench/pair", qos, PAIRS, PAIR_BURST, PAIR_WINDOW)
    return measure(groups, target)


def pairs_qos_1(target: BenchTarget) -> Measurement:
    return pairs(target, 1)


def pairs_qos_2(target: BenchTarget) -> Measurement:
    return pairs(target, 2)


def wildcards(target: BenchTarget) -> Measurement:
    """100 subscribers with wildcards over 1,000 topics; each message is for 13 of them."""
    topics = [
        f"bench/{area:02d}/{sensor:02d}" for area in range(AREAS) for sensor in range(SENSORS)
    ]
    by_area = [f"bench/{area:02d}/+" for area in range(AREAS)]
    by_sensor = [f"bench/+/{sensor:02d}" for sensor in range(SENSORS)] * 2
    everything = ["bench/#"] * 10
    subscribers: list[BenchLink] = []
    for number, name in enumerate(by_area + by_sensor + everything):
        link = open_link(target.address, f"s{number}")
        subscribe(link, [name], 0)
        subscribers.append(link)
    publisher = open_link(target.address, "p")
    fan_out = 1 + 2 + len(everything)
    load = chunks(topics, FAN_OUT_BURST, 0, len(topics) // FAN_OUT_BURST)
    group = LoadGroup(
        publisher, subscribers, load, FAN_OUT_BURST, FAN_OUT_WINDOW, fan_out, 0, topics[0]
    )
    return measure([group], target)
