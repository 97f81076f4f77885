"""Windows of time: they tumble on the clock, in UTC, and have a name and a length."""

import math
import re
from typing import Final

_NAME = re.compile(r"[A-Z][A-Z0-9]*")

# Shorter windows than this would fire more results than most sensors publish values.
MIN_SECONDS: Final = 1.0
# Longer ones than a year of 366 days outlive any state that a broker should hold in memory.
MAX_SECONDS: Final = 366 * 86_400.0


class Window:
    __slots__ = ("name", "seconds")

    def __init__(self, name: str, seconds: float) -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"window {name!r}: a name is upper-case letters and digits, a letter first"
            )
        if not MIN_SECONDS <= seconds <= MAX_SECONDS:
            raise ValueError(
                f"window {name}: {seconds!r} seconds; allowed are "
                f"{MIN_SECONDS:.0f} to {MAX_SECONDS:.0f}"
            )
        self.name = name
        self.seconds = seconds

    def start(self, now: float) -> float:
        """When the window that contains `now` began."""
        return math.floor(now / self.seconds) * self.seconds


DEFAULT_WINDOWS: Final = (
    Window("DAILY", 86_400.0),
    Window("HOURLY", 3_600.0),
    Window("QUARTERHOURLY", 900.0),
)
