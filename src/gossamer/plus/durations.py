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
