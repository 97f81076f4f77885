"""The topic that a result is delivered on: it always matches the filter that was subscribed.

Single keyword replacement (SKR) puts `$AGGREGATE` where the filter has a wildcard; replacement
with participating topics (RPT) puts their names there, `sens1;sens2`, sorted. In RPT names, `%`,
`;` and `/` (under `#`) are percent-encoded, so that the list reads back without doubt.
"""

from typing import Final

from gossamer.plus.limits import MAX_TOPIC_BYTES
from gossamer.plus.plan import OperatorPlan

AGGREGATE: Final = "$AGGREGATE"


def fits(topic: str) -> bool:
    """Whether the name can be sent. No character takes more than four bytes."""
    return 4 * len(topic) <= MAX_TOPIC_BYTES or len(topic.encode()) <= MAX_TOPIC_BYTES


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

    def join(self, topic: str) -> None:
        if not self.names_participants:
            return
        for counts, name in zip(self._names, self._parts(topic), strict=True):
            seen = counts.get(name, 0)
            counts[name] = seen + 1
            if not seen:
                self._current = ""

    def leave(self, topic: str) -> None:
        if not self.names_participants:
            return
        for counts, name in zip(self._names, self._parts(topic), strict=True):
            seen = counts[name]
            if seen == 1:
                del counts[name]
                self._current = ""
            else:
                counts[name] = seen - 1

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
    return name.replace("%", "%25").replace(";", "%3B").replace("/", "%2F")
