"""What was sent from a lane and is not acknowledged: it stays where it waited, and is not written
a second time.

A delivery in flight needs to be known with its packet identifier after a restart. Messages leave a
lane in order and get identifiers in order, so a few runs say it for all of them: the place where a
run begins, and the identifier there. What was acknowledged is deleted from the lane, so a run need
not know its holes.
"""

from collections import deque
from typing import Final

from gossamer.storage.rows import UnreadableRow

# A client that acknowledges in a strange order may leave so few identifiers free that each message
# begins a run. Past so many the journal writes a delivery as it writes those that have no lane.
MOST_RUNS: Final = 64

_HIGHEST_PACKET_ID: Final = 0xFFFF


class LaneInflight:
    """The places of one lane that are in flight, in order, and their packet identifiers."""

    __slots__ = ("_order", "_there", "runs", "taken")

    def __init__(self, taken: int = 0, runs: list[tuple[int, int]] | None = None) -> None:
        self.taken = taken  # the last place that was sent: what is before it and there is in flight
        self.runs: deque[tuple[int, int]] = deque(runs or ())
        self._order: deque[int] = deque()  # the first is in flight; others may have left
        self._there: set[int] = set()

    def __len__(self) -> int:
        return len(self._there)

    def take(self, place: int, packet_id: int) -> bool:
        """It was sent, behind all others; False if it would be a run too many."""
        runs = self.runs
        if not runs or runs[-1][1] + place - runs[-1][0] != packet_id:
            if len(runs) >= MOST_RUNS:
                return False
            runs.append((place, packet_id))
        self.taken = place
        self.restore(place)
        return True

    def restore(self, place: int) -> None:
        """It was found in flight, behind all others."""
        self._order.append(place)
        self._there.add(place)

    def packet_id(self, place: int) -> int:
        """Of a place that was found; raises `UnreadableRow` if it has none."""
        for first, packet_id in reversed(self.runs):
            if first <= place:
                found = packet_id + place - first
                if 1 <= found <= _HIGHEST_PACKET_ID:
                    return found
                break
        raise UnreadableRow("its packet identifier is not known")

    def leave(self, place: int) -> int:
        """It was acknowledged. The place up to which the lane is not needed any more; 0 if only
        this one is not."""
        order, there, runs = self._order, self._there, self.runs
        there.discard(place)
        if order[0] != place:
            return 0
        while order and order[0] not in there:
            order.popleft()
        if not order:
            runs.clear()
            return self.taken
        first = order[0]
        while len(runs) > 1 and runs[1][0] <= first:
            runs.popleft()
        return first - 1
