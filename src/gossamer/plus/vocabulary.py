"""The operators that one broker knows: for the grammar, and for clients as `$SYS/capabilities`."""

import json
from collections.abc import Iterable
from typing import Final

from gossamer.plus.operators.kinds import AggregateKind, ProcessorKind
from gossamer.plus.operators.windows import Window
from gossamer.plus.registry import AGGREGATES, DEFAULT_WINDOWS, GROUPS, RULES, SEQUENCES

CAPABILITIES_TOPIC: Final = "$SYS/capabilities"

# First levels that look like an operator and are not.
RESERVED: Final = ("SYS",)


class Vocabulary:
    """The rules and functions built in, the windows configured, the processors installed."""

    def __init__(
        self,
        windows: Iterable[Window] = DEFAULT_WINDOWS,
        processors: Iterable[ProcessorKind] = (),
    ) -> None:
        # "DAILYAVG" → its window and function
        self.temporal: dict[str, tuple[Window, AggregateKind]] = {}
        self.processors: dict[str, ProcessorKind] = {}
        for window in windows:
            for function in AGGREGATES.values():
                keyword = window.keyword + function.keyword
                if self.knows(keyword):
                    raise ValueError(
                        f"window {window.keyword}: ${keyword} already means something else"
                    )
                self.temporal[keyword] = (window, function)
        for processor in processors:
            if self.knows(processor.keyword):
                raise ValueError(f"processor {processor.keyword}: the keyword is taken")
            self.processors[processor.keyword] = processor

    def knows(self, keyword: str) -> bool:
        return (
            keyword in RULES
            or keyword in SEQUENCES
            or keyword in GROUPS
            or keyword in AGGREGATES
            or keyword in self.temporal
            or keyword in self.processors
            or keyword in RESERVED
        )

    def capabilities(self, busy: str = "", seconds: int = 0) -> bytes:
        """A JSON list of every operator, in the shape of the paper's Figure 1. `busy` says why no
        further subscription to a processor is taken for so many seconds.

        Processors first, then rules, sequences, groups, aggregates over topics and over time.
        """
        entries = [_processor(kind, busy, seconds) for kind in self.processors.values()]
        entries += [
            _entry(rule.keyword, rule.description, "payload", "rule") for rule in RULES.values()
        ]
        entries += [
            _entry(one.keyword, one.description, one.returns, "sequence")
            for one in SEQUENCES.values()
        ]
        entries += [
            _entry(one.keyword, one.description, "payload", "group") for one in GROUPS.values()
        ]
        entries += [
            _entry(one.keyword, f"{one.description} over the topics that match", "value", "spatial")
            for one in AGGREGATES.values()
        ]
        entries += [
            _entry(
                keyword,
                f"{function.description} of each topic in {window.description}",
                "value",
                "temporal",
            )
            for keyword, (window, function) in self.temporal.items()
        ]
        return json.dumps(entries, separators=(",", ":")).encode()


def _processor(kind: ProcessorKind, busy: str, seconds: int) -> dict[str, str | int]:
    """One that cannot be had here, or not now, says why."""
    entry = _entry(kind.keyword, kind.description, kind.returns, "processor")
    if kind.trouble:
        entry["unavailable"] = kind.trouble
    elif busy:
        entry["unavailable"] = busy
        entry["retry_seconds"] = seconds
    return entry


def _entry(keyword: str, description: str, returns: str, kind: str) -> dict[str, str | int]:
    return {"keyword": f"${keyword}", "desc": description, "returns": returns, "kind": kind}
