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

A subscription with rules or areas is delivered apart from the plain ones of its client, and is
judged like a client of its own that wants nothing but what its condition lets through
(`trials/conditions.py`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

from gossamer.topics.names import matches, split_share
from gossamer.wire.packets import Publish
from gossamer.wire.reasons import SERVER_BUSY
from gossamer_lab.trials.conditions import (
    NOWHERE,
    Condition,
    Possible,
    WindowCondition,
    condition_of,
)
from gossamer_lab.trials.publications import (
    Entries,
    PublicationKey,
    Publications,
    TrialPublication,
)
from gossamer_lab.trials.retained_oracle import RetainedOracle
from gossamer_lab.trials.value_oracle import ValueOracle
from gossamer_lab.trials.window_oracle import WindowOracle

_TRY_AGAIN: Final = f"was refused with 0x{SERVER_BUSY:02x}"


@dataclass
class HeldFilter:
    """A filter as a client holds it."""

    qos: int
    no_local: bool


@dataclass
class TrialReader:
    """What the oracle knows of one subscriber: of all its plain subscriptions, or of one that has a
    condition."""

    name: str
    condition: Condition | None = None
    identifier: int = 0  # of the subscription, where there is a condition
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
            if self.matches(filter, publication.topic)
        )

    def matches(self, filter: str, topic: str) -> bool:
        return matches(filter if self.condition is None else self.condition.reads, topic)

    def allows(self, publication: TrialPublication) -> bool:
        return self.condition is None or self.condition.allows(publication)

    def requires(self, publication: TrialPublication) -> bool:
        return self.condition is None or self.condition.requires(publication)

    def wants_surely(self, publication: TrialPublication) -> bool:
        """Whether all brokers have known since before this round that it wants this."""
        return self.requires(publication) and any(
            self.matches(filter, publication.topic) for filter in self.stable
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
        self.windows = WindowOracle(self.fault)
        self.values = ValueOracle(self.fault)
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
        # With conditions: by client and filter, and by client and subscription identifier.
        self._conditional: dict[tuple[str, str], TrialReader] = {}
        self._identifiers: dict[tuple[str, int], TrialReader] = {}
        self._whereabouts = {name: Possible(NOWHERE) for name in clients}
        self._publications = Publications()
        self._of_this_round: list[TrialPublication] = []

    def trace(self, text: str) -> None:
        self.digest = crc32(text.encode(), self.digest)
        self._keep(text)

    def fault(self, text: str) -> None:
        if self._group and text.endswith(_TRY_AGAIN):
            return  # a client that hurries through a mesh whose clocks are wrong comes back later
        self.trace(f"FAULT {text}")
        self.faults.append(text)

    # What clients do ----------------------------------------------------------------------------

    def publishing(
        self,
        publisher: str,
        topic: str,
        qos: int,
        retain: bool,
        template: str = "",
        where: Entries | None = None,
    ) -> PublicationKey:
        publication = self._publications.add(
            publisher, topic, qos, retain, template=template, where=where
        )
        key = publication.key
        self._of_this_round.append(publication)
        self.windows.publishing(publication, self._surely_counted_for(False))
        self.values.publishing(publication, self._surely_counted_for(True))
        if retain:
            self.retained.wrote(topic, publisher, publication.payload.decode())
        self.trace(
            f"{publisher} publishes {key.number} on {topic}, QoS {qos}, retain {retain}"
            + (f", {publication.payload.decode()} {publication.where or ''}" if template else "")
        )
        return key

    def publication(self, key: PublicationKey) -> TrialPublication:
        return self._publications.by_key[key]

    def clearing(self, publisher: str, topic: str) -> None:
        self.retained.wrote(topic, publisher, "")
        self.trace(f"{publisher} clears {topic}")

    def acknowledged(self, key: PublicationKey) -> None:
        publication = self.publication(key)
        publication.acknowledged = True
        self.windows.acknowledged(key)
        self.values.acknowledged(key)
        self.trace(f"{key.publisher}:{key.number} is acknowledged")

    def leaving_will(self, client: str, topic: str, qos: int) -> PublicationKey:
        """With a CONNECT: it may be published from now on."""
        return self._publications.add(client, topic, qos, is_will=True).key

    def will_is_due(self, key: PublicationKey) -> None:
        """The connection broke: now it must be published."""
        publication = self.publication(key)
        publication.acknowledged = True
        self._of_this_round.append(publication)
        self.trace(f"the will {key.publisher}:{key.number} is due")

    def touched(self, client: str, filter: str) -> None:
        """A request about a filter: until the next round it is in doubt."""
        reader = self._reader_of(client, filter)
        reader.stable.pop(filter, None)
        reader.ever.add(split_share(filter)[1])
        reader.ended.pop(split_share(filter)[1], None)
        self._counts_in_doubt(reader)
        self.trace(f"{client} asks about {filter}")

    def asking(self, client: str, filter: str, qos: int, where: Entries) -> None:
        """A SUBSCRIBE. With rules or areas, what it changes is in doubt, and what was and will be
        wanted is not."""
        known = self._conditional.get((client, filter))
        if known is None:
            condition = condition_of(filter, where, self._whereabouts[client])
            if condition is None:
                self.touched(client, filter)
                return
            known = TrialReader(client, condition, len(self._conditional) + 1)
            self._conditional[client, filter] = known
            self._identifiers[client, known.identifier] = known
        assert known.condition is not None
        known.condition.asked(where)
        known.ever.add(filter)
        known.ended.pop(filter, None)
        stable = known.stable.get(filter)
        if stable is not None:
            known.stable[filter] = HeldFilter(min(stable.qos, qos), stable.no_local)
        self.trace(f"{client} asks for {filter} {where or ''}")

    def identifier(self, client: str, filter: str) -> int:
        """That the subscription must have; 0 for a plain one."""
        return self._reader_of(client, filter).identifier

    def subscribed(
        self,
        client: str,
        filter: str,
        qos: int,
        no_local: bool,
        where: Entries | None = None,
        is_final: bool = True,
    ) -> None:
        """`is_final` if the client has not asked for anything else of it since."""
        reader = self._reader_of(client, filter)
        reader.held[filter] = HeldFilter(qos, no_local)
        if reader.condition is not None and is_final:
            reader.condition.answered(where or [], len(self._publications))
        self.trace(f"{client} has {filter} at QoS {qos}")

    def unsubscribed(self, client: str, filter: str, is_final: bool = True) -> None:
        """`is_final` if the client has not asked about it again since."""
        reader = self._reader_of(client, filter)
        reader.held.pop(filter, None)
        if is_final:
            reader.ended[split_share(filter)[1]] = len(self._publications)
        self.trace(f"{client} has {filter} no more")

    def walking(self, client: str, position: str) -> None:
        """It says that it is there."""
        self._whereabouts[client].told(position)
        self.trace(f"{client} walks to {position}")

    def walked(self, client: str, position: str) -> None:
        """And knows that its broker has heard it, after all else that it said."""
        self._whereabouts[client].answered(position, len(self._publications))
        self.trace(f"{client} is at {position}")

    def forgets(self, client: str) -> None:
        """Its broker may have lost what it knew of where the client is."""
        self._whereabouts[client].forgotten()

    def moved(self, client: str, broker: str) -> None:
        self._moved.add(client)
        self.trace(f"{client} moves to {broker}")

    def session_ended(self, client: str) -> None:
        for reader in self._readers_of(client):
            reader.held.clear()
            reader.stable.clear()
            self._counts_in_doubt(reader)

    def received(self, client: str, packet: Publish) -> None:
        if not packet.payload:
            return  # a retained message was removed
        self.trace(
            f"{client} gets {packet.payload.decode()} on {packet.topic}, QoS {packet.qos}"
            f"{', retained' if packet.retain else ''}"
        )
        reader = self._addressee(client, packet)
        if reader is None:
            return
        if isinstance(reader.condition, WindowCondition):
            self._received_result(client, reader, reader.condition, packet)
            return
        prefix = "" if reader.condition is None else reader.condition.prefix
        topic = packet.topic.removeprefix(prefix)
        publication = self._publications.of(packet)
        what = f"{client} got {packet.payload.decode()}"
        if packet.retain and prefix:
            # The last result of an operator is made by the broker, whatever it was made of.
            if not any(map(reader.allows, self._publications.like(topic, packet.payload))):
                self.fault(f"{what} as a last result on {packet.topic}, which is none")
            return
        if publication is None or prefix + publication.topic != packet.topic:
            self.fault(f"{what} on {packet.topic}, where nobody published it")
            return
        if not any(reader.matches(filter, topic) for filter in reader.ever):
            self.fault(f"{what} on {packet.topic}, which it never asked for")
        if packet.qos > publication.qos:
            self.fault(f"{what} at QoS {packet.qos}, above its publisher's {publication.qos}")
        if not reader.allows(publication):
            self.fault(f"{what} on {packet.topic}, which its condition keeps out")
        if packet.retain:
            if not publication.retain:
                self.fault(f"{what} as a retained message, which it is not")
            return
        if not publication.is_will and not reader.may_get(publication):
            self.fault(f"{what} on {packet.topic}, published after it had unsubscribed from it")
        self._count(reader, packet, publication, what)

    def _received_result(
        self, client: str, reader: TrialReader, condition: WindowCondition, packet: Publish
    ) -> None:
        if condition.is_of_last_values():
            self.values.received(client, reader.identifier, packet)
        else:
            self.windows.received(client, reader.identifier, condition.prefix, packet)

    def _counts_in_doubt(self, reader: TrialReader) -> None:
        self.windows.touched(reader.identifier)
        self.values.touched(reader.identifier)

    def _surely_counted_for(self, of_last_values: bool) -> set[int]:
        """The subscriptions to windows, or to sums of last values, that all brokers have known
        since before this round."""
        return {
            reader.identifier
            for reader in self._conditional.values()
            if reader.stable
            and isinstance(reader.condition, WindowCondition)
            and reader.condition.is_of_last_values() == of_last_values
        }

    def _addressee(self, client: str, packet: Publish) -> TrialReader | None:
        """Whose the delivery is: what has a condition has an identifier, and is delivered alone."""
        properties = packet.properties
        identifiers = properties.subscription_ids if properties is not None else []
        if not identifiers:
            return self._readers[client]
        reader = self._identifiers.get((client, identifiers[0]))
        if reader is None or len(identifiers) > 1:
            self.fault(f"{client} got {packet.topic} for the subscriptions {identifiers}")
            return None
        return reader

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
            if self._is_member(reader):
                if key in self._given:
                    self.fault(f"the group got {packet.payload.decode()} twice at QoS 2")
                self._given.add(key)
        if count or publication.is_will or (packet.qos == 0 and publication.retain):
            return
        if reader.name in self._moved or key.publisher in self._moved:
            return
        if self._is_member(reader) and not self._is_calm:
            return
        is_known = reader.wants_surely(publication)
        if not self._is_ordered(key.publisher, reader.name, is_known):
            return
        # [MQTT-4.6.0-6]: messages of one topic and QoS keep their order, from end to end.
        stream = (key.publisher, packet.topic, publication.qos, packet.qos)
        latest = reader.latest.get(stream, 0)
        if key.number < latest:
            self.fault(f"{what} after {latest} on {packet.topic} at QoS {packet.qos}")
        reader.latest[stream] = max(latest, key.number)

    def _is_member(self, reader: TrialReader) -> bool:
        """Of the group; what has a condition is not shared."""
        return reader.condition is None and reader.name in self._members

    # Rounds -------------------------------------------------------------------------------------

    def begin_round(self, is_calm: bool) -> None:
        self._of_this_round.clear()
        self._moved.clear()
        self._is_calm = is_calm
        self.retained.begin_round(is_calm)
        for whereabouts in self._whereabouts.values():
            whereabouts.begin_round()
        for reader in self._all_readers():
            reader.stable = dict(reader.held)
            if reader.condition is not None:
                reader.condition.begin_round()

    def end_round(self) -> None:
        for reader in self._all_readers():
            for publication in self._of_this_round:
                if publication.acknowledged and not reader.counts.get(publication.key):
                    self._judge_missing(reader, publication)
        members = [self._readers[name] for name in self._members]
        if any(self._group in reader.stable for reader in members):
            for publication in self._of_this_round:
                self._judge_group(members, publication)

    def _judge_missing(self, reader: TrialReader, publication: TrialPublication) -> None:
        key = publication.key
        for filter, grant in reader.stable.items():
            is_own = grant.no_local and key.publisher == reader.name
            if (
                min(publication.qos, grant.qos)
                and not is_own
                and reader.matches(filter, publication.topic)
                and reader.requires(publication)
            ):
                self.fault(
                    f"{reader.name} never got {key} on {publication.topic}, "
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
        return [filter for reader in self._readers_of(client) for filter in reader.held]

    def _all_readers(self) -> list[TrialReader]:
        return [*self._readers.values(), *self._conditional.values()]

    def _readers_of(self, client: str) -> list[TrialReader]:
        return [reader for reader in self._all_readers() if reader.name == client]

    def _reader_of(self, client: str, filter: str) -> TrialReader:
        """Whoever has the filter."""
        return self._conditional.get((client, filter), self._readers[client])
