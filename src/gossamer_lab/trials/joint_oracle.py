"""What one ideal broker would have done with a shared group, and with clients that move.

A publication that the group's filter matches goes to one member: at QoS 2 exactly once in the whole
group, at QoS 1 at least once, as long as somebody was a member during the whole round. Between
clients that move and members of a group the order is not judged.
"""

from collections.abc import Callable
from typing import Final

from gossamer.topics.match import matches
from gossamer.topics.shared import split_share
from gossamer.wire.packets import Publish
from gossamer.wire.reasons import SERVER_BUSY
from gossamer_lab.trials.oracle import (
    Oracle,
    Ordered,
    PublicationKey,
    TrialPublication,
    TrialReader,
)

_TRY_AGAIN: Final = f"was refused with 0x{SERVER_BUSY:02x}"


class JointOracle(Oracle):
    def __init__(
        self,
        clients: list[str],
        trace: Callable[[str], None],
        members: list[str],
        group: str,
        is_ordered: Ordered = lambda publisher, reader, is_known: True,
    ) -> None:
        super().__init__(clients, trace, is_ordered)
        self._members = members
        self._filter = split_share(group)[1]
        self._group = group
        self._moved: set[str] = set()
        self._given: dict[PublicationKey, int] = {}  # at QoS 2, to anybody in the group

    def fault(self, text: str) -> None:
        """A client that hurries through a mesh whose clocks are wrong may have to try again."""
        if not text.endswith(_TRY_AGAIN):
            super().fault(text)

    def moved(self, client: str, broker: str) -> None:
        self._moved.add(client)
        self.trace(f"{client} moves to {broker}")

    def touched(self, client: str, filter: str) -> None:
        super().touched(client, filter)
        self._readers[client].ever.add(split_share(filter)[1])

    def received(self, client: str, packet: Publish) -> None:
        super().received(client, packet)
        if client in self._members and packet.qos == 2 and packet.payload:
            key = PublicationKey.of(packet.payload)
            self._given[key] = self._given.get(key, 0) + 1
            if self._given[key] == 2:
                self.fault(f"the group got {packet.payload.decode()} twice at QoS 2")

    def _count(
        self, reader: TrialReader, packet: Publish, publication: TrialPublication, what: str
    ) -> None:
        names = [name for name, each in self._readers.items() if each is reader]
        if names[0] in self._moved or names[0] in self._members:
            reader.latest.clear()
        super()._count(reader, packet, publication, what)

    def end_round(self) -> None:
        super().end_round()
        readers = [self._readers[name] for name in self._members]
        if not any(self._group in reader.stable for reader in readers):
            return
        for publication in self._of_this_round:
            key = publication.key
            if (
                publication.acknowledged
                and publication.qos
                and matches(self._filter, publication.topic)
                and not any(reader.counts.get(key) for reader in readers)
            ):
                self.fault(f"the group never got {key.publisher}:{key.number}")
