"""The log: one line a record on the standard error stream, as text or as JSON."""

import json
import logging
import time

from gossamer.net.config.observe import Log


class JsonFormatter(logging.Formatter):
    """One JSON object a line; line breaks in a message cannot forge another record."""

    def format(self, record: logging.LogRecord) -> str:
        shown = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%SZ"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
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
    root = logging.getLogger("gossamer")
    root.handlers = [handler]
    root.setLevel(log.level.upper())
    root.propagate = False
