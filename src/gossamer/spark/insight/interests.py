"""Which subscriptions a topic reaches: the broker's own tree, on any machine."""

from collections.abc import Sequence

from gossamer.plus.grammar import is_operator_filter, parse
from gossamer.plus.plan import PlusError
from gossamer.plus.registry import DEFAULT_WINDOWS
from gossamer.plus.vocabulary import Vocabulary
from gossamer.topics.names import TopicError, split_share
from gossamer.topics.tree import FilterTree, TreeEntry


class _Wanted(TreeEntry):
    def __init__(self, filter: str) -> None:
        super().__init__(filter)
        self.numbers: list[int] = []  # of the subscriptions that read this filter


class Interests:
    def __init__(self, filters: Sequence[str]) -> None:
        self._tree = FilterTree()
        for number, filter in enumerate(filters):
            for plain in reads(filter):
                entry = self._tree.get(plain)
                if entry is None:
                    entry = _Wanted(plain)
                    self._tree.put(entry)
                assert isinstance(entry, _Wanted)
                entry.numbers.append(number)

    def of(self, topic: str) -> list[int]:
        """The numbers of the filters that it reaches, in order."""
        found: set[int] = set()
        for entry in self._tree.match(topic):
            assert isinstance(entry, _Wanted)
            found.update(entry.numbers)
        return sorted(found)


def reads(filter: str) -> tuple[str, ...]:
    """The plain filters of a subscription, shared or computing as it may be."""
    try:
        plain = split_share(filter)[1]
    except TopicError:
        return (filter,)
    if not is_operator_filter(plain):
        return (plain,)
    try:
        return parse(plain, Vocabulary(DEFAULT_WINDOWS, ())).reads
    except PlusError:
        # An operator that only that broker knows; what it reads stands behind it all the same.
        return (plain.partition("/")[2],)
