"""Windows of time: they tumble on the clock, in UTC, and have a name and a length.

Nothing else tells them apart, so that those every broker has are together in this file, and the
configuration adds others.
"""

import math
import re
from typing import Final

from gossamer.plus.operators.kinds import OperatorKind

_NAME = re.compile(r"[A-Z][A-Z0-9]*")

# Shorter windows than this would fire more results than most sensors publish values.
MIN_SECONDS: Final = 1.0
# Longer ones than a year of 366 days outlive any state that a broker should hold in memory.
MAX_SECONDS: Final = 366 * 86_400.0


class Window(OperatorKind):
    """Its keyword in front of an aggregate's makes that one over time: `DAILY`, `DAILYAVG`."""

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
        super().__init__(name, f"windows of {seconds:g} seconds")
        self.seconds = seconds

    def start(self, now: float) -> float:
        """When the window that contains `now` began."""
        return math.floor(now / self.seconds) * self.seconds


DAILY: Final = Window("DAILY", 86_400.0)
HOURLY: Final = Window("HOURLY", 3_600.0)
QUARTERHOURLY: Final = Window("QUARTERHOURLY", 900.0)
