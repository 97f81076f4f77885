"""The topic that a result is delivered on: it always matches the filter that was subscribed.

Single keyword replacement (SKR) puts `$AGGREGATE` where the filter has a wildcard; replacement
with participating topics (RPT) puts their names there, `sens1;sens2`, sorted. In RPT names, `%`,
`;` and `/` (under `#`) are percent-encoded, so that the list reads back without doubt. An explicit
list comes back as it was written, and those of its topics that take part are a User Property.
"""

from typing import Final

from gossamer.plus.limits import MAX_TOPIC_BYTES
from gossamer.plus.plan import OperatorPlan

AGGREGATE: Final = "$AGGREGATE"
PARTICIPANTS: Final = "plus_participants"  # the property that names whole topics, `a/b;c/d`


def fits(topic: str) -> bool:
    """Whether the name can be sent. No character takes more than four bytes."""
    return 4 * len(topic) <= MAX_TOPIC_BYTES or len(topic.encode()) <= MAX_TOPIC_BYTES


class ResultAddress:
    """The topic of a result that is of one topic: as that is, behind the chain, and its levels that
    the filter names as the filter spells them."""

    __slots__ = ("_levels", "_prefix")

    def __init__(self, plan: OperatorPlan) -> None:
        self._prefix = plan.chain + "/"
        self._levels = spelt_levels(plan)

    def of(self, topic: str) -> str:
        if self._levels:
            levels = topic.split("/")
            for at, level in self._levels:
                levels[at] = level
            topic = "/".join(levels)
        return self._prefix + topic


def spelt_levels(plan: OperatorPlan) -> list[tuple[int, str]]:
    """The levels that the filter spells otherwise than topics do, each with its number."""
    if "%" not in plan.filter:
        return []
    levels = enumerate(plan.filter.split("/"))
    return [(at, level) for at, level in levels if plain_name(level, False) != level]


def plain_name(name: str, has_levels: bool) -> str:
    """What is meant by a name in a filter."""
    if "%" not in name:
        return name
    if has_levels:
        name = name.replace("%2F", "/").replace("%2f", "/")
    return name.replace("%3B", ";").replace("%3b", ";").replace("%25", "%")


def fallback_topic(plan: OperatorPlan) -> str:
    """What an aggregate over topics is delivered on if nothing else fits."""
    levels = [AGGREGATE if level in ("+", "#") else level for level in plan.filter.split("/")]
    return plan.chain + "/" + "/".join(levels)


class ReplyTopic:
    """The topic of an aggregate over topics; told who takes part and who no longer does."""

    def __init__(self, plan: OperatorPlan, names_participants: bool) -> None:
        self._chain = plan.chain
        self._levels = plan.filter.split("/")
        self._wild = [n for n, level in enumerate(self._levels) if level in ("+", "#")]
        self._names: list[dict[str, int]] = [{} for _ in self._wild]
        self._fixed = self._with([AGGREGATE] * len(self._wild))
        self._current = ""  # empty when it must be made anew
        self.names_participants = names_participants and bool(self._wild)
        # Of a list: the topics, and the property that names them while nobody joins or leaves.
        self._tells_topics = names_participants and plan.is_listed()
        self._topics: dict[str, None] = {}
        self._told: list[tuple[str, str]] = []

    def join(self, topic: str) -> None:
        if self._tells_topics:
            self._topics[topic] = None
            self._told = []
        if not self.names_participants:
            return
        for counts, name in zip(self._names, self._parts(topic), strict=True):
            seen = counts.get(name, 0)
            counts[name] = seen + 1
            if not seen:
                self._current = ""

    def leave(self, topic: str) -> None:
        if self._tells_topics:
            self._topics.pop(topic, None)
            self._told = []
        if not self.names_participants:
            return
        for counts, name in zip(self._names, self._parts(topic), strict=True):
            seen = counts[name]
            if seen == 1:
                del counts[name]
                self._current = ""
            else:
                counts[name] = seen - 1

    def properties(self) -> list[tuple[str, str]]:
        """That name the topics of a list that take part; none where they are too many to say."""
        if self._tells_topics and not self._told:
            names = [_without_marks(topic) for topic in sorted(self._topics)]
            text = ";".join(names)
            if fits(text):
                self._told = [(PARTICIPANTS, text)]
        return self._told

    def topic(self) -> str:
        if not self.names_participants:
            return self._fixed
        if not self._current:
            self._current = self._with([";".join(sorted(counts)) for counts in self._names])
            if not fits(self._current):
                self._current = self._fixed
        return self._current

    def _parts(self, topic: str) -> list[str]:
        """What stands in the topic for each wildcard."""
        levels = topic.split("/")
        parts: list[str] = []
        for at in self._wild:
            if self._levels[at] == "+":
                parts.append(_escaped(levels[at]))
            else:
                parts.append(_escaped("/".join(levels[at:])))
        return parts

    def _with(self, replacements: list[str]) -> str:
        levels = self._levels.copy()
        for at, replacement in zip(self._wild, replacements, strict=True):
            levels[at] = replacement
        return self._chain + "/" + "/".join(levels)


def _escaped(name: str) -> str:
    return _without_marks(name).replace("/", "%2F")


def _without_marks(name: str) -> str:
    return name.replace("%", "%25").replace(";", "%3B")
