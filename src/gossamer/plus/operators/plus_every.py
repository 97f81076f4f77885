"""`plus_every`: so many seconds at least between two results of an aggregate over topics."""

from typing import Final

from gossamer.plus.operators.kinds import OptionKind, Options
from gossamer.plus.plan import PlusError
from gossamer.plus.values import read_number

# A day is the longest interval that a subscriber can reasonably wait between two results.
MAX_SECONDS: Final = 86_400.0


def _read(options: Options, text: str) -> None:
    seconds = read_number(text.encode())
    if not 0.0 <= seconds <= MAX_SECONDS:
        raise PlusError(
            f"{PLUS_EVERY.keyword} is 0 to {MAX_SECONDS:.0f} seconds, not {text[:40]!r}"
        )
    options.every = seconds


PLUS_EVERY = OptionKind(
    "plus_every", "seconds between two results of an aggregate over topics, at least", _read
)
