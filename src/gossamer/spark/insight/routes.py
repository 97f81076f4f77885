"""How far apart brokers are: the links that a message crosses to get to all that want it."""

from collections import deque
from collections.abc import Iterable
from functools import cache

Link = tuple[str, str]


class Routes:
    """Shortest ways. Brokers that no links are known of are one link from each other."""

    def __init__(self, links: Iterable[Link]) -> None:
        self._neighbours: dict[str, set[str]] = {}
        for one, other in links:
            self._neighbours.setdefault(one, set()).add(other)
            self._neighbours.setdefault(other, set()).add(one)
        self._ways = cache(self._find_ways)

    def crossed(self, entry: str, brokers: Iterable[str]) -> set[Link]:
        """The links on the ways from one broker to the others, each once."""
        came_from = self._ways(entry)
        found: set[Link] = set()
        for broker in brokers:
            at = broker
            while at != entry:
                before = came_from.get(at, entry)
                found.add((min(at, before), max(at, before)))
                at = before
        return found

    def _find_ways(self, entry: str) -> dict[str, str]:
        """Of each broker, the one before it on the way."""
        came_from: dict[str, str] = {}
        waiting = deque([entry])
        while waiting:
            at = waiting.popleft()
            for broker in sorted(self._neighbours.get(at, ())):
                if broker != entry and broker not in came_from:
                    came_from[broker] = at
                    waiting.append(broker)
        return came_from
