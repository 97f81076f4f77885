"""One publication, by every road that it can take through one broker."""

from collections.abc import Callable
from functools import partial
from itertools import product

from gossamer.archive.collector import Collector
from gossamer.wire.codec import encode
from gossamer.wire.packets import (
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    V5,
    V311,
    Acknowledgement,
    Publish,
)
from tests.support.durable_world import DurableWorld
from tests.support.leakage import Round
from tests.support.memory import MemoryClient, World, properties

Paths = dict[str, Callable[[], Round]]

VERSIONS = {V311: "3.1.1", V5: "5.0"}
QOS = (0, 1, 2)
NOBODY = -1
TOPICS = ("a/b", "a/c", "d/é")
BURST = 5


def send(writer: MemoryClient, readers: list[MemoryClient], topic: str, **more: object) -> None:
    """A publication, to the last acknowledgement of everybody."""
    writer.publish(topic, "payload", **more)  # type: ignore[arg-type]
    writer.take()
    for reader in readers:
        reader.messages()


def mix(sender: int, receiver: int, qos: int, granted: int) -> Round:
    """From a client of one version to one of another, or to nobody."""
    world = World()
    writer = world.client("w", sender)
    readers: list[MemoryClient] = []
    if granted != NOBODY:
        readers.append(world.client("r", receiver))
        readers[0].subscribe("#", qos=granted)

    def go() -> None:
        for topic in TOPICS:
            send(writer, readers, topic, qos=qos)

    return go


def packets(version: int, qos: int, **more: object) -> bytes:
    """A run of publications that differ in their packet identifier only, to their end."""
    told = properties(**more) if more else None
    numbers = range(1, BURST + 1)
    run = [
        encode(Publish("t/x", b"payload", qos, False, False, n if qos else 0, told), version)
        for n in numbers
    ]
    if qos == 2:
        run += [encode(Acknowledgement(PUBREL, n), version) for n in numbers]
    return b"".join(run)


def burst(version: int, qos: int, cut: int = 0, **more: object) -> Round:
    """Many packets in one chunk, or in chunks of ``cut`` bytes that end anywhere."""
    world = World()
    writer, reader = world.client("w", version), world.client("r", version)
    reader.subscribe("t/#", qos=qos)
    run = packets(version, qos, **more)

    def go() -> None:
        step = cut or len(run)
        for start in range(0, len(run), step):
            writer.send_bytes(run[start : start + step])
        writer.take()
        reader.messages()

    return go


def exchanged(sender: int, receiver: int, qos: int) -> Round:
    """A run in one chunk, to a client of another version, whose answers come in one chunk each."""
    world = World()
    writer, reader = world.client("w", sender), world.client("r", receiver)
    reader.subscribe("t/#", qos=qos)
    run = packets(sender, qos)

    def go() -> None:
        writer.send_bytes(run)
        writer.take()
        kinds = (PUBACK,) if qos == 1 else (PUBREC, PUBCOMP)
        sent = [each.packet_id for each in reader.take() if isinstance(each, Publish)]
        for kind in kinds:
            reader.send(*(Acknowledgement(kind, number) for number in sent))
            reader.take()

    return go


def queued(version: int, qos: int) -> Round:
    """For a session that is away, comes back and takes what waited; each step is committed."""
    world = DurableWorld()
    writer = world.client("w", version)
    clean = {"clean": False, "expiry": 1000} if version == V5 else {"clean": False}
    reader = world.client("r", version, **clean)
    reader.subscribe("t", qos=qos)
    reader.lose()

    def go() -> None:
        for number in range(1, 4):
            writer.publish("t", "payload", qos=qos, packet_id=number)
        writer.take()
        reader = world.client("r", version, **clean)
        reader.messages()
        reader.lose()
        world.wait(1.0)

    return go


def archived(qos: int, **more: object) -> Round:
    """Into the collector of the archive, which a store empties."""
    world = World()
    collector = Collector()
    world.broker.begin_archiving(collector, ["#"])
    writer, reader = world.client("w"), world.client("r")
    reader.subscribe("#", qos=qos)
    run = packets(V5, qos)

    def go() -> None:
        writer.send_bytes(run)
        for topic in TOPICS:
            send(writer, [reader], topic, qos=qos, **more)
        collector.take()

    return go


def aliased() -> Round:
    """Topic aliases in both directions, given anew and used."""
    world = World()
    writer = world.client("w")
    reader = world.client("r", topic_alias_maximum=2)
    reader.subscribe("#", qos=1)

    def go() -> None:
        for alias, topic in enumerate(TOPICS, start=1):
            send(writer, [reader], topic, qos=1, topic_alias=alias)
            send(writer, [reader], "", qos=1, topic_alias=alias)

    return go


def retained(version: int, **more: object) -> Round:
    """Kept, replaced, read by one who comes, and removed."""
    world = World()
    writer = world.client("w", version)

    def go() -> None:
        for topic in TOPICS:
            send(writer, [], topic, qos=1, retain=True, **more)
            send(writer, [], topic, retain=True, **more)
        reader = world.client("r", version)
        reader.subscribe("#", qos=1)
        reader.messages()
        reader.disconnect()
        for topic in TOPICS:
            writer.publish(topic, "", retain=True)
        world.wait(1.0)

    return go


def expiring() -> Round:
    """Messages that nobody fetches in time: retained ones, and those of a session."""
    world = World()
    writer = world.client("w")
    reader = world.client("r", clean=False, expiry=10_000)
    reader.subscribe("t/#", qos=1)
    reader.lose()

    def go() -> None:
        send(writer, [], "t/a", qos=1, message_expiry=5)
        send(writer, [], "t/b", qos=1, retain=True, message_expiry=5)
        world.wait(70)
        reader = world.client("r", clean=False, expiry=10_000)
        reader.messages()
        reader.lose()

    return go


def shared(version: int, qos: int) -> Round:
    """A group of two, and one beside it."""
    world = World()
    writer = world.client("w", version)
    readers = [world.client(name, version) for name in "xyz"]
    for reader in readers[:2]:
        reader.subscribe("$share/g/t/#", qos=qos)
    readers[2].subscribe("t/+", qos=qos)

    def go() -> None:
        for topic in ("t/a", "t/b"):
            send(writer, readers, topic, qos=qos)

    return go


def refused_by_size() -> Round:
    """A receiver that takes only small packets."""
    world = World()
    writer = world.client("w")
    reader = world.client("r", maximum_packet_size=30)
    reader.subscribe("#", qos=1)

    def go() -> None:
        send(writer, [reader], "t", qos=1)
        send(writer, [reader], "t", qos=1, user=[("long", "x" * 40)])

    return go


def fresh_topics() -> Round:
    """Topics that were never seen before: what is remembered of them has a budget."""
    world = World()
    core = world.broker.core
    core.routes.account.budget = core.ledger.grants.budget = 20_000
    writer, reader = world.client("w"), world.client("r")
    reader.subscribe("t/+", qos=1)
    number = 0

    def go() -> None:
        nonlocal number
        number += 1
        send(writer, [reader], f"t/{number:09}", qos=1)

    return go


def name_of(sender: int, receiver: int, qos: int, granted: int) -> str:
    to = "nobody" if granted == NOBODY else f"QoS {granted}"
    return f"{VERSIONS[sender]} to {VERSIONS[receiver]}, QoS {qos} to {to}"


MIXES: Paths = {
    name_of(*each): partial(mix, *each) for each in product(VERSIONS, VERSIONS, QOS, (*QOS, NOBODY))
}

FLOWS: Paths = {
    "bursts at QoS 0": partial(burst, V311, 0),
    "bursts at QoS 1": partial(burst, V311, 1),
    "bursts at QoS 2": partial(burst, V5, 2),
    "bursts at QoS 1 to 3.1.1": partial(exchanged, V5, V311, 1),
    "bursts at QoS 2 to 5.0": partial(exchanged, V311, V5, 2),
    "bursts cut anywhere": partial(burst, V5, 1, cut=7),
    "bursts byte by byte": partial(burst, V311, 2, cut=1),
    "properties": partial(
        burst,
        V5,
        1,
        user=[("a", "b")],
        content_type="text",
        message_expiry=9,
        correlation_data=b"c",
    ),
    "queued for 3.1.1": partial(queued, V311, 1),
    "queued for 5.0": partial(queued, V5, 2),
    "archived at QoS 0": partial(archived, 0),
    "archived at QoS 1": partial(archived, 1),
    "archived at QoS 2 with properties": lambda: archived(2, user=[("a", "b")]),
    "topic aliases": aliased,
    "retained for 3.1.1": partial(retained, V311),
    "retained with properties": lambda: retained(V5, user=[("a", "b")]),
    "expired messages": expiring,
    "shared at QoS 0": partial(shared, V311, 0),
    "shared at QoS 1": partial(shared, V5, 1),
    "shared at QoS 2": partial(shared, V5, 2),
    "too large for the receiver": refused_by_size,
    "topics never seen before": fresh_topics,
}
