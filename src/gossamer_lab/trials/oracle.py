"""What one ideal broker would have delivered, beside what the mesh did.

A trial runs in rounds, and the mesh comes to rest between them. In a round, a filter that was
granted before it and left alone in it must get every acknowledged publication that matches, at
QoS 1 and 2: there is no excuse, whatever crashes, is cut or is subscribed elsewhere meanwhile.
Nothing may arrive twice at QoS 2, nothing that nobody asked for or published, and nothing that was
published after its reader had the answer that it has unsubscribed from it.

Nor may anything come out of its publisher's order on a topic, but where `docs/mesh-reference.md`
says that it may: the tree changes and there is another way; the filter is so new that not all
brokers on the way knew it; publisher or reader moves in this round; members of a group share what
comes, while anything happens to any of them.

Where clients share a group, a publication that its filter matches goes to one member: at QoS 2
exactly once in the whole group, at QoS 1 at least once, as long as somebody was a member during the
whole round.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

from gossamer.topics.names import matches, split_share
from gossamer.wire.packets import Publish
from gossamer.wire.reasons import SERVER_BUSY

_TRY_AGAIN: Final = f"was refused with 0x{SERVER_BUSY:02x}"


@dataclass(frozen=True)
class PublicationKey:
    """One publication: the `number`-th of its publisher."""

    publisher: str
    number: int

    def payload(self) -> bytes:
        return f"{self.publisher}:{self.number}".encode()

    @staticmethod
    def of(payload: bytes) -> "PublicationKey":
        publisher, _, number = payload.decode().partition(":")
        return PublicationKey(publisher, int(number))


@dataclass
class TrialPublication:
    key: PublicationKey
    topic: str
    qos: int
    retain: bool
    index: int  # of all publications
    is_will: bool = False
    acknowledged: bool = False  # so it must arrive


@dataclass
class HeldFilter:
    """A filter as a client holds it."""

    qos: int
    no_local: bool


@dataclass
class TrialReader:
    """What the oracle knows of one subscriber."""

    name: str
    held: dict[str, HeldFilter] = field(default_factory=dict)
    ever: set[str] = field(default_factory=set)
    # Of those, what it has no more, with the number of publications before the answer said so.
    ended: dict[str, int] = field(default_factory=dict)
    stable: dict[str, HeldFilter] = field(default_factory=dict)  # held since before this round
    counts: dict[PublicationKey, int] = field(default_factory=dict)
    exact: set[PublicationKey] = field(default_factory=set)  # received at QoS 2
    latest: dict[tuple[str, str, int, int], int] = field(default_factory=dict)

    def may_get(self, publication: TrialPublication) -> bool:
        """Whether it had not ended all that matches before this was published."""
        return any(
            publication.index < self.ended.get(filter, publication.index + 1)
            for filter in self.ever
            if matches(filter, publication.topic)
        )


# Whether the order must hold: of a publisher, for a reader, and whether all know its filter.
Ordered = Callable[[str, str, bool], bool]


class Oracle:
    """`members` share the filter of `group`; without a group no client moves either."""

    def __init__(
        self,
        clients: list[str],
        trace: Callable[[str], None],
        is_ordered: Ordered = lambda publisher, reader, is_known: True,
        group: str = "",
        members: Sequence[str] = (),
    ) -> None:
        self._keep = trace
        self._is_ordered = is_ordered
        self._group = group
        self._members = members
        self._moved: set[str] = set()  # in this round
        self._is_calm = True
        self._given: set[PublicationKey] = set()  # at QoS 2, to anybody in the group
        self.digest = 0
        self.faults: list[str] = []
        self.retained = RetainedOracle()
        self.receipts = 0
        self._readers = {name: TrialReader(name) for name in clients}
        self._publications: dict[PublicationKey, TrialPublication] = {}
        self._of_this_round: list[TrialPublication] = []
        self._numbers: dict[str, int] = {}

    def trace(self, text: str) -> None:
        self.digest = crc32(text.encode(), self.digest)
        self._keep(text)

    def fault(self, text: str) -> None:
        if self._group and text.endswith(_TRY_AGAIN):
            return  # a client that hurries through a mesh whose clocks are wrong comes back later
        self.trace(f"FAULT {text}")
        self.faults.append(text)

    # What clients do ----------------------------------------------------------------------------

    def publishing(self, publisher: str, topic: str, qos: int, retain: bool) -> PublicationKey:
        key = self._new_key(publisher)
        publication = TrialPublication(key, topic, qos, retain, len(self._publications))
        self._publications[key] = publication
        self._of_this_round.append(publication)
        if retain:
            self.retained.wrote(topic, publisher, key.payload().decode())
        self.trace(f"{publisher} publishes {key.number} on {topic}, QoS {qos}, retain {retain}")
        return key

    def clearing(self, publisher: str, topic: str) -> None:
        self.retained.wrote(topic, publisher, "")
        self.trace(f"{publisher} clears {topic}")

    def acknowledged(self, key: PublicationKey) -> None:
        publication = self._publications[key]
        publication.acknowledged = True
        self.trace(f"{key.publisher}:{key.number} is acknowledged")

    def leaving_will(self, client: str, topic: str, qos: int) -> PublicationKey:
        """With a CONNECT: it may be published from now on."""
        key = self._new_key(client)
        index = len(self._publications)
        self._publications[key] = TrialPublication(key, topic, qos, False, index, is_will=True)
        return key

    def will_is_due(self, key: PublicationKey) -> None:
        """The connection broke: now it must be published."""
        publication = self._publications[key]
        publication.acknowledged = True
        self._of_this_round.append(publication)
        self.trace(f"the will {key.publisher}:{key.number} is due")

    def touched(self, client: str, filter: str) -> None:
        """A request about a filter: until the next round it is in doubt."""
        reader = self._readers[client]
        reader.stable.pop(filter, None)
        reader.ever.add(split_share(filter)[1])
        reader.ended.pop(split_share(filter)[1], None)
        self.trace(f"{client} asks about {filter}")

    def subscribed(self, client: str, filter: str, qos: int, no_local: bool) -> None:
        self._readers[client].held[filter] = HeldFilter(qos, no_local)
        self.trace(f"{client} has {filter} at QoS {qos}")

    def unsubscribed(self, client: str, filter: str, is_final: bool = True) -> None:
        """`is_final` if the client has not asked about it again since."""
        reader = self._readers[client]
        reader.held.pop(filter, None)
        if is_final:
            reader.ended[split_share(filter)[1]] = len(self._publications)
        self.trace(f"{client} has {filter} no more")

    def moved(self, client: str, broker: str) -> None:
        self._moved.add(client)
        self.trace(f"{client} moves to {broker}")

    def session_ended(self, client: str) -> None:
        reader = self._readers[client]
        reader.held.clear()
        reader.stable.clear()

    def received(self, client: str, packet: Publish) -> None:
        if not packet.payload:
            return  # a retained message was removed
        self.trace(
            f"{client} gets {packet.payload.decode()} on {packet.topic}, QoS {packet.qos}"
            f"{', retained' if packet.retain else ''}"
        )
        reader = self._readers[client]
        key = PublicationKey.of(packet.payload)
        publication = self._publications.get(key)
        what = f"{client} got {packet.payload.decode()}"
        if publication is None or publication.topic != packet.topic:
            self.fault(f"{what} on {packet.topic}, where nobody published it")
            return
        if not any(matches(filter, packet.topic) for filter in reader.ever):
            self.fault(f"{what} on {packet.topic}, which it never asked for")
        if packet.qos > publication.qos:
            self.fault(f"{what} at QoS {packet.qos}, above its publisher's {publication.qos}")
        if packet.retain:
            if not publication.retain:
                self.fault(f"{what} as a retained message, which it is not")
            return
        if not publication.is_will and not reader.may_get(publication):
            self.fault(f"{what} on {packet.topic}, published after it had unsubscribed from it")
        self._count(reader, packet, publication, what)

    def _count(
        self, reader: TrialReader, packet: Publish, publication: TrialPublication, what: str
    ) -> None:
        key = publication.key
        count = reader.counts.get(key, 0)
        reader.counts[key] = count + 1
        self.receipts += 1
        if packet.qos == 2:
            if key in reader.exact:
                self.fault(f"{what} twice at QoS 2")
            reader.exact.add(key)
            if reader.name in self._members:
                if key in self._given:
                    self.fault(f"the group got {packet.payload.decode()} twice at QoS 2")
                self._given.add(key)
        if count or publication.is_will or (packet.qos == 0 and publication.retain):
            return
        if reader.name in self._moved or key.publisher in self._moved:
            return
        if reader.name in self._members and not self._is_calm:
            return
        is_known = any(matches(filter, packet.topic) for filter in reader.stable)
        if not self._is_ordered(key.publisher, reader.name, is_known):
            return
        # [MQTT-4.6.0-6]: messages of one topic and QoS keep their order, from end to end.
        stream = (key.publisher, packet.topic, publication.qos, packet.qos)
        latest = reader.latest.get(stream, 0)
        if key.number < latest:
            self.fault(f"{what} after {latest} on {packet.topic} at QoS {packet.qos}")
        reader.latest[stream] = max(latest, key.number)

    # Rounds -------------------------------------------------------------------------------------

    def begin_round(self, is_calm: bool) -> None:
        self._of_this_round.clear()
        self._moved.clear()
        self._is_calm = is_calm
        self.retained.begin_round(is_calm)
        for reader in self._readers.values():
            reader.stable = dict(reader.held)

    def end_round(self) -> None:
        for name, reader in self._readers.items():
            for publication in self._of_this_round:
                if publication.acknowledged and not reader.counts.get(publication.key):
                    self._judge_missing(name, reader, publication)
        members = [self._readers[name] for name in self._members]
        if any(self._group in reader.stable for reader in members):
            for publication in self._of_this_round:
                self._judge_group(members, publication)

    def _judge_missing(self, name: str, reader: TrialReader, publication: TrialPublication) -> None:
        for filter, grant in reader.stable.items():
            is_own = grant.no_local and publication.key.publisher == name
            if (
                min(publication.qos, grant.qos)
                and not is_own
                and matches(filter, publication.topic)
            ):
                key = publication.key
                self.fault(
                    f"{name} never got {key.publisher}:{key.number} on {publication.topic}, "
                    f"which {filter} matches at QoS {min(publication.qos, grant.qos)}"
                )
                return

    def _judge_group(self, members: list[TrialReader], publication: TrialPublication) -> None:
        key = publication.key
        if (
            publication.acknowledged
            and publication.qos
            and matches(split_share(self._group)[1], publication.topic)
            and not any(reader.counts.get(key) for reader in members)
        ):
            self.fault(f"the group never got {key.publisher}:{key.number}")

    def wanted_by(self, client: str) -> list[str]:
        """The filters that the client's broker must know, once things are at rest."""
        return list(self._readers[client].held)

    def _new_key(self, publisher: str) -> PublicationKey:
        number = self._numbers.get(publisher, 0) + 1
        self._numbers[publisher] = number
        return PublicationKey(publisher, number)


class RetainedOracle:
    """Which retained message each topic may have in the end.

    Of writes in one round the last of each writer may win: nothing orders two writers on two
    brokers. A write of a later round beats all of earlier ones, however wrong the clocks are."""

    def __init__(self) -> None:
        self._possible: dict[str, set[str]] = {}  # by topic; "" where there may be none
        self._this_round: dict[str, dict[str, list[str]]] = {}  # by topic and writer
        self._is_calm = True

    def wrote(self, topic: str, writer: str, payload: str) -> None:
        """An empty payload removes."""
        self._this_round.setdefault(topic, {}).setdefault(writer, []).append(payload)

    def begin_round(self, is_calm: bool) -> None:
        """In a round that is not calm a write may be repeated, or never arrive."""
        self._close_round()
        self._is_calm = is_calm

    def judge(self, found: dict[str, dict[str, str]]) -> list[str]:
        """What is wrong with what each broker shows: payloads by topic, by broker."""
        self._close_round()
        faults: list[str] = []
        for broker, shown in found.items():
            for topic in self._possible.keys() | shown.keys():
                payload = shown.get(topic, "")
                possible = self._possible.get(topic, {""})
                if payload not in possible:
                    faults.append(
                        f"{broker} retains {payload or 'nothing'} on {topic}; "
                        f"possible is {sorted(possible)}"
                    )
        if len({tuple(sorted(shown.items())) for shown in found.values()}) > 1:
            faults.append(f"brokers retain different messages: {found}")
        return faults

    def _close_round(self) -> None:
        for topic, writers in self._this_round.items():
            before = self._possible.get(topic, {""})
            if self._is_calm:
                self._possible[topic] = {writes[-1] for writes in writers.values()}
            else:
                every = {payload for writes in writers.values() for payload in writes}
                self._possible[topic] = before | every
        self._this_round = {}
