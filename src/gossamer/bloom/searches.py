"""Searches: topic names asked of the bits of a Bloom filter of topic filters, look-ups counted.

A search says which elements stand for a filter, and finds out by them whether some filter may
match a topic. It needs the bits, the hasher they were made with and, for some, a few words beside
them. It does not care whether they are kept here or came from another broker. The three of the
papers are here; our own is in `hybrid`.
"""

from bisect import insort
from typing import Final, final

from mypy_extensions import i64

from gossamer.bloom.filter import BloomFilter
from gossamer.bloom.hashes import TopicHasher

QUERY_BUDGET: Final = 256  # Twenty times an ordinary search; past it the answer is yes.

_DOLLAR: Final = 0x24


class Search:
    """`queries` counts the look-ups of all searches so far; each may make at most `budget`."""

    def __init__(self, hasher: TopicHasher, bits: BloomFilter, budget: int = QUERY_BUDGET) -> None:
        self.hasher = hasher
        self.bits = bits
        self.budget: i64 = budget
        self.queries: i64 = 0
        self._limit: i64 = 0

    def may_match(self, topic: bytes) -> bool:
        """Whether a filter may match this topic name (UTF-8). No means no."""
        raise NotImplementedError

    def elements_of(self, filter: str) -> list[int]:
        """The elements that stand for a filter in the Bloom filter."""
        raise NotImplementedError

    def guides_of(self, filter: str) -> list[int]:
        """The elements that only steer a search towards the filter."""
        return []

    def note(self, filter: str, change: int) -> None:
        """A filter is new (+1) or gone (-1): for what a search keeps beside the Bloom filter."""

    @final
    def begin(self) -> None:
        self._limit = self.queries + self.budget

    @final
    def query(self, element: i64) -> bool:
        """One counted look-up; yes, uncounted, once the budget of the search is spent."""
        if self.queries >= self._limit:
            return True
        self.queries += 1
        return self.bits.contains(element)

    @final
    def query_guide(self, element: i64) -> bool:
        """The same for a guide."""
        if self.queries >= self._limit:
            return True
        self.queries += 1
        return self.bits.contains_guide(element)


def is_reserved(topic: bytes) -> bool:
    """Whether the topic begins with `$`: then no wildcard matches its first level."""
    return len(topic) > 0 and topic[0] == _DOLLAR  # [MQTT-4.7.2-1]


def prefixes_of(hasher: TopicHasher, filter: str) -> list[int]:
    """Every prefix of a filter, from its first level to the whole."""
    found: list[int] = []
    prefix: int = hasher.root
    for level in hasher.filter_levels(filter):
        prefix = hasher.extend(prefix, level)
        found.append(prefix)
    return found


def inner_prefixes(hasher: TopicHasher, filter: str) -> list[int]:
    """The prefixes of a filter that are shorter than itself."""
    return prefixes_of(hasher, filter)[:-1]


def ends(hasher: TopicHasher, filter: str) -> list[int]:
    """What ends a search: the whole filter, and if it is `p/#` also `p`, which it matches too."""
    prefixes = prefixes_of(hasher, filter)
    if not filter.endswith("#"):
        return [hasher.extend(prefixes[-1], hasher.end)]
    # `#` closes a filter as the end token does, so it needs none behind it.
    found: list[int] = [prefixes[-1]]
    if len(prefixes) > 1:
        found.append(hasher.extend(prefixes[-2], hasher.end))
    return found


class ExhaustiveSearch(Search):
    """BF, the naive search: every wildcard variant of the topic is looked up.

    2ⁿ⁺¹-1 look-ups for a topic of n levels that nothing matches, the widest variants first.
    """

    def may_match(self, topic: bytes) -> bool:
        self.begin()
        hasher = self.hasher
        prefixes: list[int] = [hasher.root]
        wildcards = not is_reserved(topic)
        for level in hasher.levels(topic):
            longer: list[int] = []
            if wildcards:
                for prefix in prefixes:
                    if self._is_filter(hasher.extend(prefix, hasher.hash)):
                        return True
                longer = [hasher.extend(prefix, hasher.plus) for prefix in prefixes]
            longer.extend([hasher.extend(prefix, level) for prefix in prefixes])
            prefixes = longer
            wildcards = True
        return any(self._is_filter(prefix) for prefix in prefixes)

    def elements_of(self, filter: str) -> list[int]:
        """The filter as one element, and another for `p` if it is `p/#`, which matches that too."""
        hasher = self.hasher
        prefixes = prefixes_of(hasher, filter)
        found: list[int] = [hasher.extend(prefixes[-1], hasher.end)]
        if filter.endswith("/#"):
            found.append(hasher.extend(prefixes[-2], hasher.end))
        return found

    def _is_filter(self, prefix: int) -> bool:
        return self.query(self.hasher.extend(prefix, self.hasher.end))


class PatternedSearch(Search):
    """BFP, the search of Naaman and Chen et al.: the wildcard patterns in use are kept too.

    A pattern says at which levels a filter has its wildcards: `a/+/c` is `=+=`, `a/+/#` is `=+#`.
    One look-up for each pattern that fits the topic, and one for the topic itself.
    """

    def __init__(self, hasher: TopicHasher, bits: BloomFilter, budget: int = QUERY_BUDGET) -> None:
        super().__init__(hasher, bits, budget)
        # In order: `#` sorts before `+` before `=`, so those that match most topics come first.
        self._patterns: list[str] = []
        self._counts: dict[str, int] = {}

    def may_match(self, topic: bytes) -> bool:
        self.begin()
        levels = self.hasher.levels(topic)
        depth = len(levels)
        reserved = is_reserved(topic)
        for pattern in self._patterns:
            if reserved and pattern[0] != "=":
                continue
            length = len(pattern)
            fits = depth >= length - 1 if pattern.endswith("#") else depth == length
            if fits and self._has_variant(pattern, levels):
                return True
        return self._has_variant("=" * depth, levels)

    def elements_of(self, filter: str) -> list[int]:
        # The pattern of `p/#` is also tried on `p`, so `p` needs no element of its own.
        return [self.hasher.extend(prefixes_of(self.hasher, filter)[-1], self.hasher.end)]

    def note(self, filter: str, change: int) -> None:
        levels = filter.split("/")
        pattern = "".join([level if level in ("+", "#") else "=" for level in levels])
        if "+" not in pattern and "#" not in pattern:
            return  # It is tried on every topic anyway.
        count = self._counts.get(pattern, 0) + change
        if count == 0:
            del self._counts[pattern]
            self._patterns.remove(pattern)
        else:
            self._counts[pattern] = count
            if count == 1 and change == 1:
                insort(self._patterns, pattern)

    def _has_variant(self, pattern: str, levels: list[int]) -> bool:
        hasher = self.hasher
        prefix: int = hasher.root
        for at in range(len(pattern)):
            wildcard = pattern[at]
            if wildcard == "+":
                prefix = hasher.extend(prefix, hasher.plus)
            elif wildcard == "#":
                prefix = hasher.extend(prefix, hasher.hash)
            else:
                prefix = hasher.extend(prefix, levels[at])
        return self.query(hasher.extend(prefix, hasher.end))


class PrefixedSearch(Search):
    """The prefix search of Banno and Watanabe: the topic tree, walked through the Bloom filter.

    Every prefix of a filter is an element, its last one with an end token. A search follows the
    prefixes that exist, three look-ups at each: `#` first, then `+`, then the level itself, and
    comes back for the branches it left. The printed algorithm does not, and would miss `a/b/c`
    beside `a/+/x`.
    """

    def may_match(self, topic: bytes) -> bool:
        self.begin()
        return self.walk(self.hasher.levels(topic), is_reserved(topic))

    def elements_of(self, filter: str) -> list[int]:
        return inner_prefixes(self.hasher, filter) + ends(self.hasher, filter)

    def walk(self, levels: list[int], reserved: bool) -> bool:
        """Depth first, without recursion: a topic may have more levels than the stack bears."""
        hasher = self.hasher
        last = len(levels) - 1
        untried: list[tuple[int, int]] = []  # Prefixes whose next level is yet to be followed.
        prefix: int = hasher.root
        at = 0
        while True:
            if at or not reserved:
                if self.query(hasher.extend(prefix, hasher.hash)):
                    return True
                longer: int = hasher.extend(prefix, hasher.plus)
                if self.exists(longer, at == last):
                    if at == last:
                        return True
                    untried.append((prefix, at))
                    prefix = longer
                    at += 1
                    continue
            longer = hasher.extend(prefix, levels[at])
            while not self.exists(longer, at == last):
                if not untried:
                    return False
                prefix, at = untried.pop()
                longer = hasher.extend(prefix, levels[at])
            if at == last:
                return True
            prefix = longer
            at += 1

    def exists(self, prefix: i64, whole: bool) -> bool:
        """Whether a prefix, or a whole filter, is there."""
        return self.query(self.hasher.extend(prefix, self.hasher.end) if whole else prefix)
