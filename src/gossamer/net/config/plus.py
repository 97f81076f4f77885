"""`[plus]`: subscriptions that compute (MQTT+)."""

from typing import Annotated

from pydantic import AfterValidator, Field

from gossamer.net.config.offload import Offload
from gossamer.net.config.section import Section
from gossamer.net.config.units import Allowed, Duration
from gossamer.plus.vocabulary import Vocabulary
from gossamer.plus.windows import DEFAULT_WINDOWS, Window


def windows_of(lengths: dict[str, float]) -> tuple[Window, ...]:
    """The windows that are always there, and these; raises ValueError if one cannot be."""
    return DEFAULT_WINDOWS + tuple(Window(name, seconds) for name, seconds in lengths.items())


def _checked(lengths: dict[str, float]) -> dict[str, float]:
    Vocabulary(windows_of(lengths))
    return lengths


Windows = Annotated[
    dict[str, Duration],
    AfterValidator(_checked),
    Allowed('names in upper case with lengths, such as MINUTE = "1 min"'),
]


class Plus(Section):
    """`docs/plus.md` says what operators there are."""

    ttl: Duration = Field(
        default=3600.0,
        gt=0,
        description="How long a value counts whose publisher does not say it.",
    )
    windows: Windows = Field(
        default={},
        description="Windows beside DAILY, HOURLY and QUARTERHOURLY: MINUTE = "
        '"1 min" brings `$MINUTEAVG` and the like.',
    )
    operators: int = Field(
        default=10_000, ge=0, description="Different operator subscriptions of all clients."
    )
    topics: int = Field(
        default=100_000, ge=1, description="Topics that one operator keeps values of."
    )
    last_results: int = Field(
        default=10_000,
        ge=0,
        description="Topics whose last result a rule keeps, for those who subscribe later.",
    )
    offload: Offload | None = Field(
        default=None, description="What a Spark query computes; nothing by default."
    )
