"""The log: one line a record on the standard error stream, as text or as JSON.

Who attacks can cause lines, so lines of one kind are bounded: what is left out is counted, and the
next line of its kind says how many there were.
"""

import json
import logging
import time
from typing import Final

from gossamer.net.config.root import Log

# What a record may say about whom it is, in fields of their own (`extra=` of a log call).
CONTEXT: Final = ("client", "user", "address", "listener", "link")
# A kind is a text with its places still open; there are only as many as there are log calls.
PERIOD_SECONDS: Final = 10.0


class Bound(logging.Filter):
    """At most so many lines of a kind in ten seconds; errors of the broker's own always pass."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self._lines = lines
        self._begun: dict[str, float] = {}
        self._passed: dict[str, int] = {}
        self._left_out: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if not self._lines or record.levelno >= logging.ERROR:
            return True
        kind = f"{record.name}\0{record.msg}"
        begun = self._begun.get(kind)
        if begun is None or not begun <= record.created < begun + PERIOD_SECONDS:
            self._begun[kind] = record.created
            self._passed[kind] = 0
        if self._passed[kind] >= self._lines:
            self._left_out[kind] = self._left_out.get(kind, 0) + 1
            return False
        self._passed[kind] += 1
        left_out = self._left_out.pop(kind, 0)
        if left_out:
            record.msg = f"{record.getMessage()} (and {left_out} more of the kind before it)"
            record.args = None
        return True


class JsonFormatter(logging.Formatter):
    """One JSON object a line; line breaks in a message cannot forge another record."""

    def format(self, record: logging.LogRecord) -> str:
        shown = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%SZ"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name in CONTEXT:
            value = getattr(record, name, None)
            if value:
                shown[name] = str(value)
        if record.exc_info:
            shown["error"] = self.formatException(record.exc_info)
        return json.dumps(shown, ensure_ascii=False)


class TextFormatter(logging.Formatter):
    """Names from the network are shown with their control characters spelled out."""

    def __init__(self) -> None:
        super().__init__("%(asctime)sZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:
        line = super().formatMessage(record)
        return "".join(one if one.isprintable() else repr(one)[1:-1] for one in line)


def set_up_logging(log: Log) -> None:
    """Replaces what was set up before."""
    formatter: logging.Formatter = JsonFormatter() if log.format == "json" else TextFormatter()
    formatter.converter = time.gmtime
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    handler.addFilter(Bound(log.lines))
    root = logging.getLogger("gossamer")
    root.handlers = [handler]
    root.setLevel(log.level.upper())
    root.propagate = False
