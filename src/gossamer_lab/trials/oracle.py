"""What one ideal broker would have delivered, beside what the mesh did.

A trial runs in rounds, and the mesh comes to rest between them. In a round, a filter that was
granted before it and left alone in it must get every acknowledged publication that matches, at
QoS 1 and 2: there is no excuse, whatever crashes, is cut or is subscribed elsewhere meanwhile.
Nothing may arrive twice at QoS 2, nothing out of its publisher's order on a topic (unless the tree
changes and there is another way, or the filter is so new that not all brokers on the way knew it),
nothing that nobody asked for or published.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from zlib import crc32

from gossamer.topics.match import matches
from gossamer.wire.packets import Publish
from gossamer_lab.trials.retained_oracle import RetainedOracle


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
    stable: dict[str, HeldFilter] = field(default_factory=dict)  # held since before this round
    counts: dict[PublicationKey, int] = field(default_factory=dict)
    exact: set[PublicationKey] = field(default_factory=set)  # received at QoS 2
    latest: dict[tuple[str, str, int, int], int] = field(default_factory=dict)


# Whether the order must hold: of a publisher, for a reader, and whether all know its filter.
Ordered = Callable[[str, str, bool], bool]


class Oracle:
    def __init__(
        self,
        clients: list[str],
        trace: Callable[[str], None],
        is_ordered: Ordered = lambda publisher, reader, is_known: True,
    ) -> None:
        self._keep = trace
        self._is_ordered = is_ordered
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
        self.trace(f"FAULT {text}")
        self.faults.append(text)

    # What clients do ----------------------------------------------------------------------------

    def publishing(self, publisher: str, topic: str, qos: int, retain: bool) -> PublicationKey:
        key = self._new_key(publisher)
        publication = TrialPublication(key, topic, qos, retain)
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
        self._publications[key] = TrialPublication(key, topic, qos, False, is_will=True)
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
        reader.ever.add(filter)
        self.trace(f"{client} asks about {filter}")

    def subscribed(self, client: str, filter: str, qos: int, no_local: bool) -> None:
        self._readers[client].held[filter] = HeldFilter(qos, no_local)
        self.trace(f"{client} has {filter} at QoS {qos}")

    def unsubscribed(self, client: str, filter: str) -> None:
        self._readers[client].held.pop(filter, None)
        self.trace(f"{client} has {filter} no more")

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
        if count or publication.is_will or (packet.qos == 0 and publication.retain):
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
        self.retained.begin_round(is_calm)
        for reader in self._readers.values():
            reader.stable = dict(reader.held)

    def end_round(self) -> None:
        for name, reader in self._readers.items():
            for publication in self._of_this_round:
                if publication.acknowledged and not reader.counts.get(publication.key):
                    self._judge_missing(name, reader, publication)

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

    def wanted_by(self, client: str) -> list[str]:
        """The filters that the client's broker must know, once things are at rest."""
        return list(self._readers[client].held)

    def _new_key(self, publisher: str) -> PublicationKey:
        number = self._numbers.get(publisher, 0) + 1
        self._numbers[publisher] = number
        return PublicationKey(publisher, number)
