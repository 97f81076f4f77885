"""What comes in one chunk is handled in runs; packets that come one by one never are. Whatever
happens to readers and writers meanwhile, everybody gets the same either way."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.session.queue_policy import DROP_NEWEST, DROP_OLDEST, REFUSE
from gossamer.session.session import Session
from gossamer.wire.codec import encode
from gossamer.wire.frames import packet_length
from gossamer.wire.packets import (
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    V5,
    V311,
    Acknowledgement,
    Connack,
    Disconnect,
    Publish,
)
from tests.support.memory import MemoryClient, World

TOPICS = ("t/a", "t/b")
Cut = Callable[[bytes], list[bytes]]


class Reader(NamedTuple):
    version: int
    qos: int
    window: int = 65_535
    is_lasting: bool = False
    identifier: int = 0
    filters: tuple[str, ...] = ("t/#",)

    def join(self, world: World, name: str) -> MemoryClient:
        wishes: dict[str, object] = {}
        if self.version == V5:
            wishes["receive_maximum"] = self.window
            if self.is_lasting:
                wishes["expiry"] = 1000
        return world.client(name, self.version, clean=not self.is_lasting, **wishes)


class Side:
    """One world, and how chunks are cut before they are sent there."""

    def __init__(
        self, readers: Sequence[Reader], writers: Sequence[int], cut: Cut, policy: int
    ) -> None:
        self.world = World(receive_maximum=6, max_queued=4, queue_policy=policy)
        self.cut = cut
        self.kinds = readers
        self.readers = [each.join(self.world, f"r{n}") for n, each in enumerate(readers)]
        for each, client in zip(readers, self.readers, strict=True):
            known = each.identifier if each.version == V5 else 0
            client.subscribe(*each.filters, qos=each.qos, identifier=known)
        self.writers = [self.world.client(f"w{n}", each) for n, each in enumerate(writers)]
        self.unreleased: list[list[int]] = [[] for _ in writers]
        # What each reader has not finished: the packet identifier, and the answer it waits for.
        self.open: list[list[tuple[int, int]]] = [[] for _ in readers]

    def send(self, client: MemoryClient, data: bytes) -> None:
        for chunk in self.cut(data):
            client.send_bytes(chunk)

    def heard(self) -> list[object]:
        """What everybody was sent since the last time, without the numbers that only they know."""
        found: list[object] = []
        for number, reader in enumerate(self.readers):
            opened = self.open[number]
            for packet in reader.take():
                if isinstance(packet, Publish):
                    known = packet.properties.subscription_ids if packet.properties else []
                    found.append((number, packet.topic, packet.payload, packet.qos, packet.dup))
                    found.append((packet.retain, known))
                    if packet.qos:
                        if packet.dup:
                            opened[:] = [each for each in opened if each[0] != packet.packet_id]
                        assert packet.packet_id not in [each[0] for each in opened]
                        opened.append((packet.packet_id, PUBACK if packet.qos == 1 else PUBREC))
                elif isinstance(packet, Acknowledgement):
                    at = next(
                        (n for n, each in enumerate(opened) if each[0] == packet.packet_id), -1
                    )
                    if at >= 0:
                        opened[at] = (packet.packet_id, PUBCOMP)
                    found.append((number, packet.kind, packet.reason, at))
                elif isinstance(packet, Disconnect):
                    found.append((number, packet.reason))
                else:
                    assert isinstance(packet, Connack)
        for number, writer in enumerate(self.writers):
            for packet in writer.take():
                if isinstance(packet, Disconnect):
                    found.append((f"w{number}", packet.reason))
                    continue
                assert isinstance(packet, Acknowledgement)
                found.append((f"w{number}", packet.kind, packet.packet_id, packet.reason))
                if packet.kind == PUBREC and packet.reason < 0x80:
                    self.unreleased[number].append(packet.packet_id)
        counters = self.world.broker.core.counters
        found.append((counters.messages_received, counters.dropped_slow, counters.dropped_full))
        found.append([client.is_closed for client in (*self.readers, *self.writers)])
        found.append([0 if s is None else s.in_flight() for s in self.sessions()])
        assert self.world.broker.core.faults.by_place == {}
        return found

    def sessions(self) -> list[Session | None]:
        return [each.connection.session for each in self.readers]


def whole(data: bytes) -> list[bytes]:
    return [data]


def one_by_one(data: bytes) -> list[bytes]:
    found = []
    while data:
        size = packet_length(data, 0)
        found.append(data[:size])
        data = data[size:]
    return found


def cut_at(size: int) -> Cut:
    return lambda data: [data[at : at + size] for at in range(0, len(data), size)]


class Step(NamedTuple):
    """Something that happens, the same on each side."""

    what: str
    who: int = 0
    numbers: tuple[int, ...] = ()
    qos: int = 1
    topic: int = 0
    size: int = 2
    dup: bool = False

    def happen(self, side: Side) -> None:
        getattr(self, f"_{self.what}")(side)

    def _publish(self, side: Side) -> None:
        """A run of packets to one topic, whose identifiers may repeat."""
        number = self.who % len(side.writers)
        writer = side.writers[number]
        if writer.is_closed:
            return
        packets = [
            Publish(
                TOPICS[self.topic],
                bytes([at % 256]) * self.size,
                self.qos,
                False,
                self.dup,
                packet_id if self.qos else 0,
            )
            for at, packet_id in enumerate(self.numbers)
        ]
        side.send(writer, b"".join(encode(packet, writer.version) for packet in packets))

    def _release(self, side: Side) -> None:
        """PUBREL for all that was received, and for some that was not."""
        number = self.who % len(side.writers)
        writer = side.writers[number]
        if writer.is_closed:
            return
        unreleased = side.unreleased[number]
        told = [*unreleased, *self.numbers]
        unreleased.clear()
        side.send(writer, b"".join(encode(Acknowledgement(PUBREL, n), V311) for n in told))

    def _answer(self, side: Side) -> None:
        """The answers that are awaited: of these places among what is open, in this order."""
        number = self.who % len(side.readers)
        reader = side.readers[number]
        if reader.is_closed:
            return
        opened = side.open[number]
        answers: list[tuple[int, int]] = []
        for place in self.numbers or range(len(opened)):
            if place < len(opened) and opened[place] not in answers:
                answers.append(opened[place])
        for each in answers:
            if each[1] != PUBREC:
                opened.remove(each)
        side.send(reader, b"".join(encode(Acknowledgement(kind, n), V311) for n, kind in answers))

    def _stray(self, side: Side) -> None:
        """An answer to nothing, behind one that is awaited."""
        number = self.who % len(side.readers)
        reader = side.readers[number]
        if reader.is_closed:
            return
        opened = [each for each in side.open[number] if each[1] == PUBACK][:1]
        for each in opened:
            side.open[number].remove(each)
        kind = (PUBACK, PUBREC, PUBCOMP)[self.qos]
        answers = [*opened, (60_000, kind), *((n, kind) for n, _ in opened)]
        side.send(reader, b"".join(encode(Acknowledgement(k, n), V311) for n, k in answers))

    def _block(self, side: Side) -> None:
        side.readers[self.who % len(side.readers)].connection.outbox.blocked = True

    def _unblock(self, side: Side) -> None:
        for reader in side.readers:
            reader.connection.unblocked(side.world.now)
        side.world.broker.flush(side.world.now)

    def _return(self, side: Side) -> None:
        """A reader takes its own session over."""
        number = self.who % len(side.readers)
        kind = side.kinds[number]
        client = kind.join(side.world, f"r{number}")
        side.readers[number] = client
        if not kind.is_lasting:
            side.open[number].clear()
            known = kind.identifier if kind.version == V5 else 0
            client.subscribe(*kind.filters, qos=kind.qos, identifier=known)


readers = st.builds(
    Reader,
    version=st.sampled_from([V311, V5]),
    qos=st.sampled_from([0, 1, 2]),
    window=st.sampled_from([1, 3, 65_535]),
    is_lasting=st.booleans(),
    identifier=st.sampled_from([0, 0, 7]),
    filters=st.sampled_from([("t/#",), ("t/a",), ("t/+", "t/a"), ("$share/g/t/#",)]),
)
identifiers = st.lists(st.integers(1, 12), min_size=1, max_size=10).map(tuple)
in_turn = st.builds(
    lambda first, count: tuple(range(first, first + count)), st.integers(1, 40), st.integers(1, 12)
)
sizes = st.sampled_from([0, 2, 118, 119, 120, 121, 122])
one = st.integers(0, 2)
steps = st.lists(
    st.builds(
        Step,
        st.sampled_from(["publish", "publish", "publish", "release", "answer", "answer"]),
        one,
        st.one_of(in_turn, identifiers),
        st.sampled_from([1, 2, 0]),
        st.integers(0, 1),
        sizes,
        st.just(False),
    )
    | st.builds(
        Step,
        st.just("publish"),
        one,
        identifiers,
        st.sampled_from([1, 2]),
        st.just(0),
        st.just(2),
        st.just(True),
    )
    | st.builds(
        lambda what, who, qos: Step(what, who, qos=qos),
        st.sampled_from(["stray", "block", "unblock", "return"]),
        one,
        one,
    ),
    min_size=1,
    max_size=12,
)


@example(
    [Reader(V311, 2)],
    [V311],
    [
        Step("publish", numbers=(1, 2, 3, 2, 1), qos=2),
        Step("answer"),
        Step("answer", numbers=(2, 0, 1)),
        Step("release", numbers=(9,)),
    ],
    5,
    REFUSE,
)
@example(
    [Reader(V311, 1), Reader(V5, 0)],
    [V5],
    [
        Step("publish", numbers=(1, 2, 3)),
        Step("block"),
        Step("publish", numbers=(4, 5, 6)),
        Step("block", 1),
        Step("publish", numbers=(7, 8, 9, 10)),
    ],
    7,
    DROP_OLDEST,
)
@given(
    st.lists(readers, min_size=1, max_size=3),
    st.lists(st.sampled_from([V311, V5]), min_size=1, max_size=2),
    steps,
    st.integers(1, 60),
    st.sampled_from([DROP_NEWEST, DROP_OLDEST, REFUSE]),
)
def test_runs_are_what_their_packets_are(
    kinds: list[Reader], writers: list[int], happening: list[Step], size: int, policy: int
) -> None:
    sides = [Side(kinds, writers, cut, policy) for cut in (one_by_one, whole, cut_at(size))]
    for step in (*happening, Step("unblock")):
        expected, *others = [(step.happen(side), side.heard())[1] for side in sides]
        for heard in others:
            assert heard == expected


@pytest.mark.parametrize("version", [V311, V5])
@pytest.mark.parametrize("qos", [1, 2])
def test_a_run_within_the_window_and_what_follows_it(version: int, qos: int) -> None:
    """As many as the window allows go out at once, the rest as answers come; all in order."""
    world = World(max_inflight=7)
    reader = world.client("r", version)
    reader.subscribe("t/#", qos=2)
    writer = world.client("w", V311)
    run = [Publish("t/a", bytes([n]), qos, False, False, n) for n in range(1, 31)]
    writer.send(*run)
    first = [packet for packet in reader.take() if isinstance(packet, Publish)]
    assert [packet.packet_id for packet in first] == [1, 2, 3, 4, 5, 6, 7]
    assert [packet.payload[0] for packet in first] == [1, 2, 3, 4, 5, 6, 7]
    answers = [packet for packet in writer.take() if isinstance(packet, Acknowledgement)]
    assert [packet.packet_id for packet in answers] == list(range(1, 31))
    for packet in first:
        reader.send(Acknowledgement(PUBACK if qos == 1 else PUBREC, packet.packet_id))
        if qos == 2:
            reader.send(Acknowledgement(PUBCOMP, packet.packet_id))
    assert [packet.payload[0] for packet in reader.messages()] == list(range(8, 31))
