"""The last retained message of each topic.

In a mesh every broker keeps them all; a stamp decides which of two is the last, removals are kept
for a while, and digests tell two brokers cheaply where they differ.

All of them have a budget in bytes, of which removals have a part: when that is full, the oldest
removals are forgotten first.
"""

from hashlib import blake2b
from sys import getsizeof
from typing import Final
from zlib import crc32

from mypy_extensions import mypyc_attr

from gossamer.broker.mesh_port import LOCAL_TOPICS, PEER_PREFIX
from gossamer.broker.offload import TOPICS as OFFLOAD_TOPICS
from gossamer.broker.policy import Permissions
from gossamer.broker.retained_stamps import (
    TOMBSTONE_SECONDS,
    Stamp,
    stamp_of,
    unstamped,
    with_stamp,
)
from gossamer.budget.division import MIB
from gossamer.budget.ledger import NOBODY, Account, Owner
from gossamer.session.counters import Counters
from gossamer.session.journal import Journal
from gossamer.session.message import Message
from gossamer.session.message_bytes import MESSAGE_BYTES, PROPERTIES_BYTES, message_bytes
from gossamer.topics.name_tree import NameTree

# Brokers compare their retained messages in this many parts.
DIGESTS: Final = 256
# What the broker says of itself, and after a restart says again.
_TOLD_ANEW: Final = ("$SYS/", OFFLOAD_TOPICS)


# What an entry costs beside its messages and its topic, whose levels the tree holds again, and a
# node of that tree. `tests/attacks/test_true_sizes.py` holds the figures.
_ENTRY_BYTES: Final = 112
NODE_BYTES: Final = 352
# Its place among those that will be forgotten.
_EXPIRY_BYTES: Final = 112
# A stamp, and the message that carries it beside the one that clients get.
_STAMP_BYTES: Final = 160
_STAMPED_BYTES: Final = _STAMP_BYTES + MESSAGE_BYTES + PROPERTIES_BYTES + 256
# Removals have one part in so many of the budget.
_REMOVALS_PART: Final = 16


@mypyc_attr(acyclic=True)
class _Kept:
    """`message` is what subscribers get; `stamped` what is stored and sent to neighbours.

    A removal has neither, only its stamp.
    """

    __slots__ = ("forget_at", "message", "nodes", "owner", "size", "stamp", "stamped", "topic")

    def __init__(
        self, message: Message, stamped: Message, owner: Owner, stamp_offset: float
    ) -> None:
        self.topic = message.topic
        self.stamp: Stamp | None = stamp_of(stamped)
        self.message: Message | None = message if message.payload else None
        self.stamped: Message | None = stamped if message.payload else None
        self.owner = owner
        self.size = _size_of(message, None if stamped is message else self.stamp)
        self.nodes = 0  # bytes of the tree that its owner is charged with
        self.forget_at = message.expires_at
        if not message.payload and self.stamp is not None:
            self.forget_at = self.stamp.micros / 1e6 - stamp_offset + TOMBSTONE_SECONDS


class Retained:
    """Kept by topic, found by filter; expired ones are dropped when somebody looks."""

    __slots__ = (
        "_counters",
        "_expiring",
        "_journal",
        "_keeps_stamps",
        "_removals",
        "_removals_bytes",
        "_round",
        "_tree",
        "account",
        "digests",
        "stamp_offset",
    )

    def __init__(
        self,
        journal: Journal,
        counters: Counters,
        account: Account | None = None,
        keeps_stamps: bool = False,
    ) -> None:
        """With `keeps_stamps` it is for brokers alone: what is found has its stamp on it, and no
        second copy without it is made."""
        self._keeps_stamps = keeps_stamps
        self.stamp_offset = 0.0  # what the time in stamps is more than the time passed in
        self._journal = journal
        self._counters = counters
        self._tree = NameTree()
        self._removals: dict[str, None] = {}  # the topics of removals, the oldest first
        self._removals_bytes = 0
        self._expiring: dict[str, None] = {}  # the topics of what will be forgotten
        self._round: list[str] = []  # those of them that the sweep has still to look at
        self.account = account if account is not None else Account("retained", 256 * MIB)
        self.digests: list[int] = [0] * DIGESTS

    def refusal(self, message: Message, owner: Owner, most: int) -> str:
        """Why it cannot be kept in this name beside `most` others at most; "" if it can."""
        if not message.payload:
            return ""
        account = self.account
        known = self._find(message.topic)
        if len(self) >= most and (known is None or known.message is None):
            account.refused += 1
            return f"the broker keeps no more than {most} retained messages"
        size = _size_of(message, None) + NODE_BYTES * self._tree.growth(message.topic)
        if known is None:
            return account.refuses(size, owner)
        if known.owner is owner and size <= known.size:
            return ""
        account.give(known.size + known.nodes, known.owner)
        refusal = account.refuses(size + known.nodes, owner)
        account.hold(known.size + known.nodes, known.owner)
        return refusal

    def keep(self, message: Message, stamped: Message, owner: Owner = NOBODY) -> bool:
        """Replaces what the topic had [MQTT-3.3.1-5], unless that is newer; tells whether it did.

        An empty payload removes [MQTT-3.3.1-6], [MQTT-3.3.1-7].
        """
        topic = message.topic
        stamp = stamp_of(stamped)
        known = self._find(topic)
        known_stamp = None if known is None else known.stamp
        if stamp is not None and known_stamp is not None and not stamp.is_after(known_stamp):
            return False
        if not message.payload and stamp is None:
            self.discard(topic)
            return True
        is_stored = not topic.startswith(_TOLD_ANEW)
        if not message.payload:
            assert stamp is not None
            removal = _removal(topic, stamp)
            if is_stored:
                self._journal.retained_saved(removal)
            self._put(known, _Kept(removal, removal, owner, self.stamp_offset))
            return True
        if is_stored:
            self._journal.retained_saved(stamped)
        # What is delivered keeps the encodings that are made of it, each as large as its payload;
        # so these are copies.
        copy = (stamped if self._keeps_stamps else message).changed()
        is_one = self._keeps_stamps or stamped is message
        self._put(
            known,
            _Kept(copy, copy if is_one else stamped.changed(), owner, self.stamp_offset),
        )
        return True

    def is_news(self, stamped: Message) -> bool:
        """Whether `keep` would keep it."""
        stamp = stamp_of(stamped)
        known = self._find(stamped.topic)
        known_stamp = None if known is None else known.stamp
        return stamp is None or known_stamp is None or stamp.is_after(known_stamp)

    def restore(self, stamped: Message) -> None:
        """What a store kept."""
        message = stamped if self._keeps_stamps else unstamped(stamped)
        self._put(
            None,
            _Kept(message, stamped, Owner(message.publisher, message.user, ""), self.stamp_offset),
        )

    def discard(self, topic: str) -> bool:
        known = self._find(topic)
        if known is None:
            return False
        nodes = self._tree.nodes
        self._tree.remove(topic)
        self.account.grow(NODE_BYTES * (self._tree.nodes - nodes))
        self._leave(known)
        self._journal.retained_removed(topic)
        return True

    def has(self, topic: str) -> bool:
        known = self._find(topic)
        return known is not None and known.message is not None

    def get(self, topic: str) -> Message | None:
        """The message that the topic has, expired or not."""
        known = self._find(topic)
        return None if known is None else known.message

    def search(self, filter: str, now: float) -> list[Message]:
        """The messages that match, without those that have expired."""
        fresh: list[Message] = []
        for found in self._tree.search(filter):
            assert isinstance(found, _Kept)
            message = found.message
            if message is None:
                continue
            if message.is_expired(now):
                self._counters.expired += 1
                self.discard(message.topic)
            else:
                fresh.append(message)
        return fresh

    def sweep(self, now: float, most: int) -> bool:
        """Drops what is there no longer than now, of so many that have a time; True at the end of
        a round of all of them. Those without one are not looked at."""
        if not self._round:
            self._round = list(self._expiring)
        for topic in self._round[-most:]:
            found = self._find(topic)
            if found is not None and found.forget_at and now >= found.forget_at:
                self._counters.expired += 1
                self.discard(topic)
        del self._round[-most:]
        return not self._round

    def stamped_in(self, parts: list[int]) -> list[Message]:
        """Everything with a stamp, removals too, in these parts of the digest."""
        chosen = set(parts)
        found: list[Message] = []
        for kept in self._tree.values():
            assert isinstance(kept, _Kept)
            if kept.stamp is not None and _part(kept.topic) in chosen:
                stamped = kept.stamped
                found.append(_removal(kept.topic, kept.stamp) if stamped is None else stamped)
        return found

    def latest_stamp(self) -> int:
        """The highest time in a stamp, in microseconds; 0 without any."""
        latest = 0
        for kept in self._tree.values():
            assert isinstance(kept, _Kept)
            if kept.stamp is not None:
                latest = max(latest, kept.stamp.micros)
        return latest

    def unstamped_messages(self) -> list[Message]:
        """What was kept before this broker had neighbours."""
        found: list[Message] = []
        for kept in self._tree.values():
            assert isinstance(kept, _Kept)
            if kept.stamp is None and kept.message is not None:
                found.append(kept.message)
        return found

    def __len__(self) -> int:
        return len(self._tree) - len(self._removals)

    def _find(self, topic: str) -> _Kept | None:
        found = self._tree.get(topic)
        assert found is None or isinstance(found, _Kept)
        return found

    def _put(self, known: _Kept | None, kept: _Kept) -> None:
        nodes = self._tree.nodes
        self._tree.put(kept.topic, kept)
        # Who made the nodes of a topic has them in its share; the total has those that there are.
        kept.nodes = NODE_BYTES * (self._tree.nodes - nodes)
        if known is not None:
            kept.nodes = known.nodes
            self._leave(known)
            self.account.grow(-known.nodes)
        self.account.hold(kept.size + kept.nodes, kept.owner)
        self._tell(kept)
        if kept.forget_at:
            self._expiring[kept.topic] = None
        if kept.message is None:
            self._removals[kept.topic] = None
            self._removals_bytes += kept.size
            self._forget_removals()
        self._counters.retained = len(self)

    def _leave(self, kept: _Kept) -> None:
        """It is in the tree no more, or another one in its place."""
        self.account.give(kept.size + kept.nodes, kept.owner)
        self.account.grow(kept.nodes)
        self._tell(kept)
        if kept.forget_at:
            self._expiring.pop(kept.topic, None)
        if kept.message is None:
            del self._removals[kept.topic]
            self._removals_bytes -= kept.size
        self._counters.retained = len(self)

    def _forget_removals(self) -> None:
        most = self.account.budget // _REMOVALS_PART
        if self._removals_bytes <= most:
            return
        excess = self._removals_bytes - most + most // _REMOVALS_PART
        oldest: list[str] = []
        for topic in self._removals:
            if excess <= 0:
                break
            known = self._find(topic)
            assert known is not None
            excess -= known.size
            oldest.append(topic)
        self.account.evicted += len(oldest)
        for topic in oldest:
            self.discard(topic)

    def _tell(self, kept: _Kept) -> None:
        """Enters it in the digests, or takes it out again."""
        stamp = kept.stamp
        if stamp is not None:
            identity = f"{kept.topic}\0{stamp.micros}\0{stamp.origin}".encode()
            self.digests[_part(kept.topic)] ^= int.from_bytes(
                blake2b(identity, digest_size=8).digest(), "big"
            )


def is_shown(permissions: Permissions, message: Message) -> bool:
    """Whether it may still be shown: its publisher's rights may have changed since."""
    return (
        message.topic.startswith(LOCAL_TOPICS)
        or message.publisher.startswith(PEER_PREFIX)  # judged where it was published
        or permissions.may_have_published(message.user, message.publisher, message.topic)
    )


def _size_of(message: Message, stamp: Stamp | None) -> int:
    """Without the nodes of its topic."""
    if not message.payload:
        return _ENTRY_BYTES + _EXPIRY_BYTES + _STAMP_BYTES + 2 * getsizeof(message.topic)
    size = _ENTRY_BYTES + getsizeof(message.topic) + message_bytes(message)
    if message.expires_at:
        size += _EXPIRY_BYTES
    return size if stamp is None else size + _STAMPED_BYTES


def _removal(topic: str, stamp: Stamp) -> Message:
    return with_stamp(Message(topic, b"", 1, True, None, 0.0, "", ""), stamp)


def _part(topic: str) -> int:
    return crc32(topic.encode()) % DIGESTS
