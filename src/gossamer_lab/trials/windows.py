"""The windows that trials have, and what is in them, as plan and oracle know it."""

from typing import Final

from gossamer.plus.operators.windows import Window

TICK: Final = Window("TICK", 4.0)
TOPICS: Final = ("w/a", "w/b", "w/c")
COUNTED: Final = "w/+"  # of all filters of windows
BY_TOPIC: Final = "$TICKSUM;;v"
OVER_TOPICS: Final = "$SUM$TICKSUM;;v"
CHAINS: Final = (BY_TOPIC, OVER_TOPICS)
# Each publication has a digit of its own, which counts to three: a double is exact for so many.
BASE: Final = 4
DIGITS: Final = 26


def is_window_filter(filter: str) -> bool:
    return filter.partition("/")[0] in CHAINS
