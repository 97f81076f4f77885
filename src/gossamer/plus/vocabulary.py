"""Every operator keyword that this broker knows, for the grammar and the capabilities."""

from collections.abc import Iterable
from typing import Final

from gossamer.plus.aggregates.table import FUNCTIONS, FUNCTIONS_BY_KEYWORD
from gossamer.plus.rules import RULES_BY_KEYWORD
from gossamer.plus.windows import DEFAULT_WINDOWS, Window

# First levels that look like an operator and are not.
RESERVED: Final = ("SYS",)


class ProcessorKind:
    """What a processor says of itself. `returns` is "value" (a number) or "json".

    `trouble` says why it cannot be had here, and what to do about it; "" where it can.
    """

    def __init__(self, keyword: str, description: str, returns: str, trouble: str = "") -> None:
        self.keyword = keyword
        self.description = description
        self.returns = returns
        self.trouble = trouble


class Vocabulary:
    """The rules and functions built in, the windows configured, the processors installed."""

    def __init__(
        self,
        windows: Iterable[Window] = DEFAULT_WINDOWS,
        processors: Iterable[ProcessorKind] = (),
    ) -> None:
        self.windows: dict[str, Window] = {}
        self.temporal: dict[str, tuple[Window, str]] = {}  # "DAILYAVG" → its window and "AVG"
        self.processors: dict[str, ProcessorKind] = {}
        for window in windows:
            self._add_window(window)
        for processor in processors:
            if self.knows(processor.keyword):
                raise ValueError(f"processor {processor.keyword}: the keyword is taken")
            self.processors[processor.keyword] = processor

    def knows(self, keyword: str) -> bool:
        return (
            keyword in RULES_BY_KEYWORD
            or keyword in FUNCTIONS_BY_KEYWORD
            or keyword in self.temporal
            or keyword in self.processors
            or keyword in RESERVED
        )

    def _add_window(self, window: Window) -> None:
        self.windows[window.name] = window
        for function in FUNCTIONS:
            keyword = window.name + function.keyword
            if self.knows(keyword):
                raise ValueError(f"window {window.name}: ${keyword} already means something else")
            self.temporal[keyword] = (window, function.keyword)
