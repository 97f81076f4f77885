"""What can go wrong on the way to an answer."""

from typing import Final

from gossamer.plus.publication import (
    BUSY,
    NOT_AN_IMAGE,
    PROCESSOR_FAILED,
    TIMED_OUT,
    TOO_MANY_PIXELS,
)

# The reasons that a worker may give; what else it says is taken for PROCESSOR_FAILED.
TOLD: Final = (NOT_AN_IMAGE, TOO_MANY_PIXELS, PROCESSOR_FAILED)

__all__ = ["BUSY", "PROCESSOR_FAILED", "TIMED_OUT", "TOLD", "BadImage", "ModelError"]


class BadImage(ValueError):
    """A payload that is no image we read; `reason` is what the skipped value is counted as."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class ModelError(Exception):
    """A model cannot be had or cannot be used; the text says what to do."""
