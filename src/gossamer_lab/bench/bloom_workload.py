"""The filters and topics of the Bloom papers' evaluation, drawn from a seeded generator."""

import random
from dataclasses import dataclass
from enum import StrEnum
from string import ascii_lowercase

from gossamer.topics.names import matches

LEVEL_LENGTH = 10


class Preparation(StrEnum):
    """The three ways in which the papers prepare their subscriptions."""

    WITH_WILDCARD_ONLY = "with wildcard-only topics"
    WITHOUT_WILDCARD_ONLY = "without wildcard-only topics"
    WITHOUT_MATCH = "without matching subscription"


@dataclass(frozen=True)
class Parameters:
    """Table III of the paper, with its default values."""

    filters: int = 6_000
    levels: int = 6
    wildcard_probability: float = 0.5
    first_wildcard_level: int = 0


def draw_topic(rng: random.Random, levels: int) -> str:
    return "/".join("".join(rng.choices(ascii_lowercase, k=LEVEL_LENGTH)) for _ in range(levels))


def draw_wildcards(rng: random.Random, topic: str, first: int) -> str:
    """One of the 2·(2ᵐ-1) wildcard variants of a topic over its m levels from `first` on."""
    levels = topic.split("/")
    plain_variants = (1 << (len(levels) - first)) - 1
    number = rng.randrange(1, 2 * plain_variants + 1)
    pluses = number
    if number > plain_variants:
        # The other half: `#` at the level of the highest bit, any `+` before it.
        number -= plain_variants
        place = number.bit_length() - 1
        pluses = number - (1 << place)
        levels[first + place :] = ["#"]
    for place in range(pluses.bit_length()):
        if pluses >> place & 1:
            levels[first + place] = "+"
    return "/".join(levels)


def is_wildcard_only(filter: str) -> bool:
    return all(level in ("+", "#") for level in filter.split("/"))


def draw_filters(
    rng: random.Random, parameters: Parameters, preparation: Preparation, topics: list[str]
) -> list[str]:
    """As many filters as the parameters say; one that the preparation excludes is drawn again."""
    drawn: list[str] = []
    while len(drawn) < parameters.filters:
        filter = draw_topic(rng, parameters.levels)
        if rng.random() < parameters.wildcard_probability:
            filter = draw_wildcards(rng, filter, parameters.first_wildcard_level)
        if preparation is not Preparation.WITH_WILDCARD_ONLY and is_wildcard_only(filter):
            continue
        if preparation is Preparation.WITHOUT_MATCH and any(
            matches(filter, topic) for topic in topics
        ):
            continue
        drawn.append(filter)
    return drawn
