"""Lengths of time as people write them: `10s`, `5 min`, `1.5 h`, `1d`; without a unit, seconds."""

import re
from typing import Final

DURATION_UNITS: Final = {
    "": 1.0,
    "MS": 0.001,
    "S": 1.0,
    "MIN": 60.0,
    "H": 3600.0,
    "D": 86400.0,
}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", re.ASCII)


def read_duration(text: str) -> float:
    """In seconds; raises ValueError for anything else."""
    found = _DURATION.fullmatch(text)
    if found is None or found[2].upper() not in DURATION_UNITS:
        raise ValueError(f"{text[:40]!r} is not a duration")
    return float(found[1]) * DURATION_UNITS[found[2].upper()]


# Times that a sequence may be told: shorter ones are no time to a sensor, longer ones than a year
# of 366 days outlive what a broker should remember.
SHORTEST_WAIT: Final = 0.1
LONGEST_WAIT: Final = 366 * 86_400.0


def read_wait(text: str, example: str) -> float:
    """The argument of an operator that waits; ValueError names what it should look like."""
    seconds = read_duration(text) if text else 0.0
    if not SHORTEST_WAIT <= seconds <= LONGEST_WAIT:
        raise ValueError(f"needs a time of 0.1 s to 366 d, as in {example}")
    return seconds
