"""`plus_least`: no result of an aggregate over topics unless so many of them take part."""

from typing import Final

from gossamer.plus.operators.kinds import OptionKind, Options
from gossamer.plus.plan import PlusError

# More topics than one operator can have.
MOST: Final = 1_000_000


def _read(options: Options, text: str) -> None:
    if not (text.isascii() and text.isdigit() and len(text) < 8 and int(text) <= MOST):
        raise PlusError(f"{PLUS_LEAST.keyword} is 0 to {MOST} topics, not {text[:40]!r}")
    options.least = max(options.least, int(text))


PLUS_LEAST = OptionKind(
    "plus_least", "topics that must take part in an aggregate over topics, at least", _read
)
