"""What a logger said, whatever else was set up in this process."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


@contextmanager
def log_of(name: str, lowest: int = logging.DEBUG) -> Iterator[list[str]]:
    """Every message of that logger, from this level on, while the context lasts."""
    logger, lines = logging.getLogger(name), _Lines()
    level = logger.level
    logger.addHandler(lines)
    logger.setLevel(lowest)
    try:
        yield lines.said
    finally:
        logger.removeHandler(lines)
        logger.setLevel(level)
