"""Changes of the mode for a plan: at any moment, on any broker, several at once."""

from random import Random

from gossamer.mesh.settings import MODES


def switches(seed: int, number: int, brokers: int, seconds: float) -> list[tuple[float, int, str]]:
    """When, on which broker, to which mode, in a round; nothing else depends on these numbers."""
    random = Random(f"switches of {seed} in {number}")
    count = random.choice((0, 0, 1, 3)) if seed % 2 else 0
    return [
        (round(random.uniform(0.0, seconds), 4), random.randrange(brokers), random.choice(MODES))
        for _ in range(count)
    ]
