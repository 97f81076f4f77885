"""Who is where and what they say: the tree of brokers, the topics, the filters."""

from random import Random
from typing import Final

from gossamer_lab.scenarios.settings import ScenarioSettings

_HOT_PART: Final = 10  # crowded subscribers share one broker in so many


def tree(brokers: int, random: Random) -> list[int]:
    """For each broker but the first, the earlier one that it is joined to."""
    return [random.randrange(number) for number in range(1, brokers)]


def topics(settings: ScenarioSettings, random: Random) -> list[str]:
    """Different topics of one to five levels, drawn from the pool of all of them."""
    pool: dict[str, None] = {}
    wanted = min(settings.topics, settings.names**settings.levels)
    while len(pool) < wanted:
        depth = _depth(settings, random)
        names = [f"{level}{random.randrange(settings.names)}" for level in range(depth)]
        pool["/".join(names)] = None
    return list(pool)


def _depth(settings: ScenarioSettings, random: Random) -> int:
    """Every topic of the pool is as likely as any other, so most are deep."""
    weights = [settings.names**depth for depth in range(1, settings.levels + 1)]
    return random.choices(range(1, settings.levels + 1), weights)[0]


def filter_of(topic: str, settings: ScenarioSettings, random: Random) -> str:
    """The topic, or with `+` in place of a level, or with `#` in place of its end, or both."""
    levels = topic.split("/")
    if random.random() < settings.alpha:
        levels[random.randrange(len(levels))] = "+"
    if random.random() < settings.hash_probability:
        levels[random.randrange(len(levels)) :] = ["#"]
    return "/".join(levels)


def places(count: int, settings: ScenarioSettings, crowding: float, random: Random) -> list[int]:
    """The broker of each client; a part of them crowds on few brokers."""
    everywhere = range(settings.brokers)
    few = random.sample(everywhere, max(1, settings.brokers // _HOT_PART))
    return [random.choice(few if random.random() < crowding else everywhere) for _ in range(count)]
