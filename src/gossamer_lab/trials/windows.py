"""The windows and sums that trials have, and what is in them, as plan and oracles know it."""

import json
from typing import Final

from gossamer.plus.operators.windows import Window
from gossamer_lab.trials.publications import TrialPublication

TICK: Final = Window("TICK", 4.0)
TOPICS: Final = ("w/a", "w/b", "w/c")
COUNTED: Final = "w/+"  # of all filters of windows
BY_TOPIC: Final = "$TICKSUM;;v"
OVER_TOPICS: Final = "$SUM$TICKSUM;;v"
LAST_VALUES: Final = "$SUM;;v"  # of topics, at each publication
CHAINS: Final = (BY_TOPIC, OVER_TOPICS, LAST_VALUES)
# Each publication has a digit of its own, which counts to three: a double is exact for so many.
BASE: Final = 4
DIGITS: Final = 26


def is_window_filter(filter: str) -> bool:
    return filter.partition("/")[0] in CHAINS


def value_of(publication: TrialPublication) -> int:
    """0 for what is none of those that are counted."""
    if publication.topic not in TOPICS:
        return 0
    try:
        document = json.loads(publication.payload)
    except ValueError:
        return 0
    value = document.get("v") if isinstance(document, dict) else None
    return value if isinstance(value, int) else 0


def digit_of(value: int) -> int:
    return (value.bit_length() - 1) // 2


def digits_of(total: int) -> dict[int, int]:
    """How often each digit is in a sum."""
    counts: dict[int, int] = {}
    digit = 0
    while total:
        total, count = divmod(total, BASE)
        if count:
            counts[digit] = count
        digit += 1
    return counts
