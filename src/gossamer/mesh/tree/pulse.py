"""How far away a neighbour is, measured by its answers; and whether it still answers.

A cost is the round trip's power of two, in milliseconds. It changes only if every answer of a while
says so, and by more than a step: a busy moment must not change the tree.
"""

from __future__ import annotations

from typing import Final

# Below this everything is a local network, where load decides round trips more than distance does.
_NEAR_SECONDS: Final = 0.004
_MOST_COST: Final = 16
_SAMPLES: Final = 8
# How far a round trip may stray from its step before the step changes.
_SLACK: Final = 2.5


class Pulse:
    """One connection's."""

    __slots__ = ("_samples", "cost", "is_measured", "round_trip")

    def __init__(self) -> None:
        self.cost = 0
        self.is_measured = False  # whether the neighbour has answered at all
        self.round_trip = 0.0  # seconds, the shortest of the last few
        self._samples: list[float] = []

    def answered(self, round_trip: float) -> bool:
        """The neighbour answered after so many seconds; whether the cost is another now."""
        if round_trip < 0.0:  # the clock was set back
            round_trip = self.round_trip
        samples = self._samples
        samples.append(round_trip)
        if len(samples) > _SAMPLES:
            del samples[0]
        # The shortest is what the road takes; the rest is what somebody was busy with.
        shortest = min(samples)
        self.round_trip = shortest
        if not self.is_measured:
            self.is_measured = True
            self.cost = cost_of(shortest)
            return True
        if len(samples) < _SAMPLES:
            return False
        if cost_of(shortest / _SLACK) > self.cost or cost_of(shortest * _SLACK) < self.cost:
            self.cost = cost_of(shortest)
            return True
        return False


def cost_of(round_trip: float) -> int:
    """0 for a local network, then one more for each doubling."""
    cost = 0
    while round_trip >= _NEAR_SECONDS and cost < _MOST_COST:
        round_trip /= 2
        cost += 1
    return cost
