"""The last retained message of each topic.

In a mesh every broker keeps them all; a stamp decides which of two is the last, removals are kept
for a while, and digests tell two brokers cheaply where they differ.
"""

from hashlib import blake2b
from typing import Final
from zlib import crc32

from gossamer.broker.offloading import TOPICS as OFFLOAD_TOPICS
from gossamer.broker.stamps import TOMBSTONE_SECONDS, Stamp, stamp_of, unstamped
from gossamer.session.counters import Counters
from gossamer.session.journal import Journal
from gossamer.session.message import Message
from gossamer.topics.name_tree import NameTree

# Brokers compare their retained messages in this many parts.
DIGESTS: Final = 256
# What the broker says of itself, and after a restart says again.
_TOLD_ANEW: Final = ("$SYS/", OFFLOAD_TOPICS)


class _Kept:
    """`message` is what subscribers get; `stamped` what is stored and sent to neighbours."""

    __slots__ = ("forget_at", "message", "stamp", "stamped")

    def __init__(self, message: Message, stamped: Message) -> None:
        self.message = message
        self.stamped = stamped
        self.stamp: Stamp | None = stamp_of(stamped)
        self.forget_at = message.expires_at
        if not message.payload and self.stamp is not None:
            self.forget_at = self.stamp.micros / 1e6 + TOMBSTONE_SECONDS


class Retained:
    """Kept by topic, found by filter; expired ones are dropped when somebody looks."""

    __slots__ = ("_counters", "_journal", "_tombstones", "_tree", "digests")

    def __init__(self, journal: Journal, counters: Counters) -> None:
        self._journal = journal
        self._counters = counters
        self._tree = NameTree()
        self._tombstones = 0
        self.digests: list[int] = [0] * DIGESTS

    def keep(self, message: Message, stamped: Message) -> bool:
        """Replaces what the topic had [MQTT-3.3.1-5], unless that is newer; tells whether it did.

        An empty payload removes [MQTT-3.3.1-6], [MQTT-3.3.1-7].
        """
        topic = message.topic
        kept = _Kept(message, stamped)
        stamp = kept.stamp
        known = self._find(topic)
        known_stamp = None if known is None else known.stamp
        if stamp is not None and known_stamp is not None and not stamp.is_after(known_stamp):
            return False
        if not message.payload and stamp is None:
            self.discard(topic)
            return True
        self._put(topic, known, kept)
        if not topic.startswith(_TOLD_ANEW):
            self._journal.retained_saved(stamped)
        return True

    def is_news(self, stamped: Message) -> bool:
        """Whether `keep` would keep it."""
        stamp = stamp_of(stamped)
        known = self._find(stamped.topic)
        known_stamp = None if known is None else known.stamp
        return stamp is None or known_stamp is None or stamp.is_after(known_stamp)

    def restore(self, stamped: Message) -> None:
        """What a store kept."""
        self._put(stamped.topic, None, _Kept(unstamped(stamped), stamped))

    def discard(self, topic: str) -> bool:
        known = self._find(topic)
        if known is None:
            return False
        self._tree.remove(topic)
        self._count(topic, known, -1)
        self._journal.retained_removed(topic)
        return True

    def has(self, topic: str) -> bool:
        known = self._find(topic)
        return known is not None and bool(known.message.payload)

    def search(self, filter: str, now: float) -> list[Message]:
        """The messages that match, without those that have expired."""
        fresh: list[Message] = []
        for found in self._tree.search(filter):
            assert isinstance(found, _Kept)
            message = found.message
            if message.is_expired(now):
                self._counters.expired += 1
                self.discard(message.topic)
            elif message.payload:
                fresh.append(message)
        return fresh

    def sweep(self, now: float) -> None:
        """Drops everything whose time has come."""
        for found in self._tree.values():
            assert isinstance(found, _Kept)
            if found.forget_at and now >= found.forget_at:
                self._counters.expired += 1
                self.discard(found.message.topic)

    def stamped_in(self, parts: list[int]) -> list[Message]:
        """Everything with a stamp, removals too, in these parts of the digest."""
        chosen = set(parts)
        found: list[Message] = []
        for kept in self._tree.values():
            assert isinstance(kept, _Kept)
            if kept.stamp is not None and _part(kept.message.topic) in chosen:
                found.append(kept.stamped)
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
            if kept.stamp is None:
                found.append(kept.message)
        return found

    def __len__(self) -> int:
        return len(self._tree) - self._tombstones

    def _find(self, topic: str) -> _Kept | None:
        found = self._tree.get(topic)
        assert found is None or isinstance(found, _Kept)
        return found

    def _put(self, topic: str, known: _Kept | None, kept: _Kept) -> None:
        self._tree.put(topic, kept)
        if known is not None:
            self._count(topic, known, -1)
        self._count(topic, kept, 1)

    def _count(self, topic: str, kept: _Kept, change: int) -> None:
        if not kept.message.payload:
            self._tombstones += change
        self._counters.retained = len(self)
        stamp = kept.stamp
        if stamp is not None:
            identity = f"{topic}\0{stamp.micros}\0{stamp.origin}".encode()
            self.digests[_part(topic)] ^= int.from_bytes(
                blake2b(identity, digest_size=8).digest(), "big"
            )


def _part(topic: str) -> int:
    return crc32(topic.encode()) % DIGESTS
