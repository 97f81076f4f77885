"""The last retained message of each topic.

In a mesh every broker keeps them all; a stamp decides which of two is the last, removals are kept
for a while, and digests tell two brokers cheaply where they differ.

All of them have a budget in bytes, of which removals have a part: when that is full, the oldest
removals are forgotten first.
"""

from hashlib import blake2b
from typing import Final
from zlib import crc32

from gossamer.broker.offload import TOPICS as OFFLOAD_TOPICS
from gossamer.broker.retained_entry import NODE_BYTES, RetainedEntry, entry_bytes
from gossamer.broker.retained_expiry import ExpiringEntries
from gossamer.broker.retained_stamps import Stamp, stamp_of, unstamped, with_stamp
from gossamer.budget.division import MIB
from gossamer.budget.ledger import NOBODY, Account, Owner
from gossamer.session.counters import Counters
from gossamer.session.journal import Journal
from gossamer.session.message import Message
from gossamer.session.subscription import ANY, OwedMessages
from gossamer.topics.name_tree import NameSearch, NameTree

# Brokers compare their retained messages in this many parts.
DIGESTS: Final = 256
# What the broker says of itself, and after a restart says again.
_TOLD_ANEW: Final = ("$SYS/", OFFLOAD_TOPICS)
# Removals have one part in so many of the budget.
_REMOVALS_PART: Final = 16
# Of what a store kept, so many owners are remembered, so that messages of one share one.
_MOST_OWNERS: Final = 1_000
# A search looks at so many names in one turn: less than a millisecond.
STEPS: Final = 2_000


class Retained:
    """Kept by topic, found by filter; expired ones are dropped when somebody looks."""

    __slots__ = (
        "_counters",
        "_expiring",
        "_journal",
        "_keeps_stamps",
        "_latest_micros",
        "_owners",
        "_passing",
        "_removals",
        "_removals_bytes",
        "_restored",
        "_tree",
        "account",
        "digests",
        "puts",
        "stamp_offset",
    )

    def __init__(
        self,
        journal: Journal,
        counters: Counters,
        account: Account | None = None,
        keeps_stamps: bool = False,
    ) -> None:
        """With `keeps_stamps` it is for brokers alone: what is found has its stamp on it."""
        self._keeps_stamps = keeps_stamps
        self.stamp_offset = 0.0  # what the time in stamps is more than the time passed in
        self._journal = journal
        self._counters = counters
        self._tree = NameTree()
        self._removals: dict[str, None] = {}  # the topics of removals, the oldest first
        self._removals_bytes = 0
        self._expiring = ExpiringEntries()
        # Of those that came, and of those that a store kept: each has a number, above or below 0.
        self.puts = 0
        self._restored = 0
        self._latest_micros = 0
        self._owners: dict[tuple[str, str], Owner] = {}  # of what a store kept
        self._passing: list[str] = []  # of removals, those without a stamp: until all is restored
        self.account = account if account is not None else Account("retained", 256 * MIB)
        self.digests: list[int] = [0] * DIGESTS

    def refusal(self, message: Message, owner: Owner, most: int) -> str:
        """Why it cannot be kept in this name beside `most` others at most; "" if it can."""
        if not message.payload:
            return ""
        account = self.account
        known = self._find(message.topic)
        if len(self) >= most and (known is None or known.is_removal):
            account.refused += 1
            return f"the broker keeps no more than {most} retained messages"
        size = entry_bytes(message) + NODE_BYTES * self._tree.growth(message.topic)
        if known is None:
            return account.refuses(size, owner)
        held = known.size()
        if known.owner is owner and size <= held:
            return ""
        account.give(held + known.nodes, known.owner)
        refusal = account.refuses(size + known.nodes, owner)
        account.hold(held + known.nodes, known.owner)
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
        if not message.payload:
            assert stamp is not None
            message = Message(topic, b"", 1, True, None, 0.0, "", "")
            stamped = with_stamp(message, stamp)
        stored = 0
        if not topic.startswith(_TOLD_ANEW):
            stored = self._journal.retained_saved(stamped, 0 if known is None else known.stored())
        self.puts += 1
        self._put(known, message, stamp, owner, stored, self.puts)
        return True

    def is_news(self, stamped: Message) -> bool:
        """Whether `keep` would keep it."""
        stamp = stamp_of(stamped)
        known = self._find(stamped.topic)
        known_stamp = None if known is None else known.stamp
        return stamp is None or known_stamp is None or stamp.is_after(known_stamp)

    def later_than(self, stamped: Message) -> Message | None:
        """What the topic has if that was published later: the message, or its removal."""
        stamp = stamp_of(stamped)
        known = self._find(stamped.topic)
        known_stamp = None if known is None else known.stamp
        if known is None or stamp is None or known_stamp is None or not known_stamp.is_after(stamp):
            return None
        return known.message()

    def restore(self, stamped: Message) -> None:
        """What a store kept, under the number that it says. Of two on one topic the higher number
        holds: the other was replaced before it had been read, by this process or an earlier one."""
        topic = stamped.topic
        known = self._find(topic)
        if known is not None:
            if not 0 < known.stored() < stamped.stored:
                self._journal.retained_removed(topic, stamped.stored)
                return
            self._journal.retained_removed(topic, known.stored())
        name = (stamped.publisher, stamped.user)
        owner = self._owners.get(name)
        if owner is None:
            if len(self._owners) >= _MOST_OWNERS:
                self._owners.clear()
            owner = self._owners[name] = Owner(stamped.publisher, stamped.user, "")
        stamp = stamp_of(stamped)
        self._restored += 1
        self._put(known, unstamped(stamped), stamp, owner, stamped.stored, -self._restored)
        if not stamped.payload and stamp is None:
            self._passing.append(topic)

    def restore_expired(self, stamped: Message) -> None:
        """As `restore`, of what would have been dropped by now; so is what it had replaced."""
        topic = stamped.topic
        self._journal.retained_removed(topic, stamped.stored)
        known = self._find(topic)
        if known is not None and 0 < known.stored() < stamped.stored:
            self._remove(known)

    def all_restored(self) -> None:
        """The store has nothing more: removals that only stood for what it might have are gone."""
        passing = self._passing
        self._passing = []
        for topic in passing:
            known = self._find(topic)
            if known is not None and known.is_removal and known.stamp is None:
                self._remove(known)
        self._forget_removals()

    def discard(self, topic: str) -> bool:
        known = self._find(topic)
        if self._journal.unread.has_retained and not topic.startswith(_TOLD_ANEW):
            # The store may have more on this topic than has been read: what is removed must not
            # come back from there, in this process or the next.
            removal = Message(topic, b"", 1, True, None, 0.0, "", "")
            stored = self._journal.retained_saved(removal, 0 if known is None else known.stored())
            self.puts += 1
            self._put(known, removal, None, NOBODY, stored, self.puts)
            self._passing.append(topic)
            return known is not None
        if known is None:
            return False
        self._remove(known)
        return True

    def _remove(self, known: RetainedEntry) -> None:
        topic = known.name()
        self._journal.retained_removed(topic, known.stored())
        nodes = self._tree.nodes
        self._tree.remove(topic)
        self.account.grow(NODE_BYTES * (self._tree.nodes - nodes))
        self._leave(known)

    def has(self, topic: str) -> bool:
        known = self._find(topic)
        return known is not None and not known.is_removal

    def get(self, topic: str) -> Message | None:
        """The message that the topic has, expired or not."""
        known = self._find(topic)
        return None if known is None or known.is_removal else self._seen(known)

    def search(self, filter: str, now: float) -> list[Message]:
        """The messages that match, without those that have expired; all at once."""
        found: list[Message] = []
        search = self.begin_search(filter)
        while not search.is_done():
            found += search.next(now, STEPS)
        return found

    def begin_search(self, filter: str) -> "RetainedSearch":
        """The messages that match, a few at a time."""
        return RetainedSearch(self, self._tree.search(filter))

    def found(self, entry: RetainedEntry, now: float) -> Message | None:
        """What an entry of the tree has for a client; one that has expired is dropped."""
        if entry.is_removal:
            return None
        if entry.forget_at and now >= entry.forget_at:
            self._counters.expired += 1
            self.discard(entry.name())
            return None
        return self._seen(entry)

    def _seen(self, entry: RetainedEntry) -> Message:
        return entry.stamped() if self._keeps_stamps else entry.message()

    def sweep(self, now: float, most: int) -> bool:
        """Drops what is there no longer than now, of so many that have a time; True at the end of
        a round of all of them. Those without one are not looked at."""
        for entry in self._expiring.due(now, most):
            topic = entry.name()
            if self._find(topic) is entry:
                self._counters.expired += 1
                self.discard(topic)
        return self._expiring.is_round_over()

    def begin_parts(self, parts: set[int]) -> "StampedSearch":
        """Everything with a stamp, removals too, in these parts of the digest, a few at a time."""
        return StampedSearch(self._tree.everything(), parts)

    def latest_stamp(self) -> int:
        """The highest time that a stamp had, in microseconds; 0 without any."""
        return self._latest_micros

    def unstamped_messages(self) -> list[Message]:
        """What was kept before this broker had neighbours."""
        return [
            entry.message()
            for entry in self._everything()
            if entry.stamp is None and not entry.is_removal
        ]

    def _everything(self) -> list[RetainedEntry]:
        found: list[RetainedEntry] = []
        for entry in self._tree.everything().take(len(self._tree), 1 << 62):
            assert isinstance(entry, RetainedEntry)
            found.append(entry)
        return found

    def __len__(self) -> int:
        return len(self._tree) - len(self._removals)

    def _find(self, topic: str) -> RetainedEntry | None:
        found = self._tree.get(topic)
        assert found is None or isinstance(found, RetainedEntry)
        return found

    def _put(
        self,
        known: RetainedEntry | None,
        message: Message,
        stamp: Stamp | None,
        owner: Owner,
        stored: int,
        number: int,
    ) -> None:
        entry = RetainedEntry(number, stored, message, stamp, owner, self.stamp_offset)
        nodes = self._tree.nodes
        self._tree.put(entry)
        # Who made the nodes of a topic has them in its share; the total has those that there are.
        entry.nodes = NODE_BYTES * (self._tree.nodes - nodes)
        if known is not None:
            entry.nodes = known.nodes
            self._leave(known)
            self.account.grow(-known.nodes)
        size = entry.size()
        self.account.hold(size + entry.nodes, owner)
        self._tell(entry)
        if entry.forget_at:
            self._expiring.add(entry)
        if entry.is_removal:
            self._removals[message.topic] = None
            self._removals_bytes += size
            self._forget_removals()
        self._counters.retained = len(self)

    def _leave(self, entry: RetainedEntry) -> None:
        """It is in the tree no more, or another one in its place."""
        size = entry.size()
        self.account.give(size + entry.nodes, entry.owner)
        self.account.grow(entry.nodes)
        self._tell(entry)
        if entry.forget_at:
            self._expiring.remove(entry)
        if entry.is_removal:
            del self._removals[entry.name()]
            self._removals_bytes -= size
        self._counters.retained = len(self)

    def _forget_removals(self) -> None:
        most = self.account.budget // _REMOVALS_PART
        if self._removals_bytes <= most or self._journal.unread.has_retained:
            return  # while the store is read, one may stand for what has not been: `all_restored`
        excess = self._removals_bytes - most + most // _REMOVALS_PART
        oldest: list[str] = []
        for topic in self._removals:
            if excess <= 0:
                break
            known = self._find(topic)
            assert known is not None
            excess -= known.size()
            oldest.append(topic)
        self.account.evicted += len(oldest)
        for topic in oldest:
            self.discard(topic)

    def _tell(self, entry: RetainedEntry) -> None:
        """Enters it in the digests, or takes it out again."""
        stamp = entry.stamp
        if stamp is not None:
            self._latest_micros = max(self._latest_micros, stamp.micros)
            topic = entry.name()
            identity = f"{topic}\0{stamp.micros}\0{stamp.origin}".encode()
            self.digests[_part(topic)] ^= int.from_bytes(
                blake2b(identity, digest_size=8).digest(), "big"
            )


class RetainedSearch(OwedMessages):
    """The messages that match a filter."""

    __slots__ = ("_names", "_retained")

    def __init__(self, retained: Retained, names: NameSearch) -> None:
        self._retained = retained
        self._names = names

    def is_done(self) -> bool:
        return self._names.is_done()

    def next(self, now: float, most: int, since: int = ANY) -> list[Message]:
        found: list[Message] = []
        for entry in self._names.take(most, STEPS):
            assert isinstance(entry, RetainedEntry)
            if entry.number() <= since:
                message = self._retained.found(entry, now)
                if message is not None:
                    found.append(message)
        return found


class StampedSearch(OwedMessages):
    """What neighbours compare, in some parts of the digest, each as it is when it is come to: what
    changes while this is under way is told in its new form, here or as any publication is."""

    __slots__ = ("_names", "_parts")

    def __init__(self, names: NameSearch, parts: set[int]) -> None:
        self._names = names
        self._parts = parts

    def is_done(self) -> bool:
        return self._names.is_done()

    def next(self, now: float, most: int, since: int = ANY) -> list[Message]:
        found: list[Message] = []
        for entry in self._names.take(most, STEPS):
            assert isinstance(entry, RetainedEntry)
            if entry.stamp is not None and _part(entry.name()) in self._parts:
                found.append(entry.stamped())
        return found


def _part(topic: str) -> int:
    return crc32(topic.encode()) % DIGESTS
