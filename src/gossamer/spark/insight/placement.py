"""Which broker each client should be on, so that fewer bytes pass between brokers.

Clients move one at a time, the one that saves most first, until none saves enough. A broker takes
no more clients than its share and a half: without that limit the best place for all is one broker.
What a move saves follows from the links that a message crosses to get to all that want it.
"""

import math
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from functools import cache
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple

BrokerPair = tuple[str, str]  # joined by a link

CROWDING: Final = 1.5
# A client that is moved for less than this share of all traffic is not worth anybody's while.
LEAST_SAVING: Final = 0.01
# Nobody moves so many clients by one report; the next one finds what is left.
MOST_STEPS: Final = 10_000


class Routes:
    """How far apart brokers are. Those that no links are known of are one link from each other."""

    def __init__(self, links: Iterable[BrokerPair]) -> None:
        self._neighbours: dict[str, set[str]] = {}
        for one, other in links:
            self._neighbours.setdefault(one, set()).add(other)
            self._neighbours.setdefault(other, set()).add(one)
        self._ways = cache(self._find_ways)

    def crossed(self, entry: str, brokers: Iterable[str]) -> set[BrokerPair]:
        """The links on the ways from one broker to the others, each once."""
        came_from = self._ways(entry)
        found: set[BrokerPair] = set()
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


class PublisherFlow(NamedTuple):
    """What one client published where it entered, for the same readers."""

    publisher: str  # empty if it is not known, or has no session: it stays
    entry: str
    size: int  # bytes
    readers: frozenset[str]


class Move(NamedTuple):
    client: str
    broker: str
    better: str
    saves: int  # bytes on links


class Advice(NamedTuple):
    moves: list[Move]
    before: int  # bytes on links
    after: int


class Placement:
    """Where everybody is, changed by moves."""

    def __init__(
        self, flows: Iterable[PublisherFlow], homes: Mapping[str, str], routes: Routes
    ) -> None:
        self._flows = list(flows)
        self._homes = dict(homes)
        self._routes = routes
        self._entries = [flow.entry for flow in self._flows]
        # What a client published elsewhere, before it came to its broker, stays there.
        self._follows = [self._homes.get(flow.publisher) == flow.entry for flow in self._flows]
        self._reading = [
            Counter(self._homes[reader] for reader in flow.readers if reader in self._homes)
            for flow in self._flows
        ]
        self._of_client: dict[str, list[int]] = {}
        for number, flow in enumerate(self._flows):
            for client in {flow.publisher, *flow.readers} & self._homes.keys():
                self._of_client.setdefault(client, []).append(number)

    def advise(self, brokers: Iterable[str]) -> Advice:
        names = sorted(brokers)
        before = self._total()
        most = math.ceil(CROWDING * len(self._homes) / max(len(names), 1))
        least = max(LEAST_SAVING * before, 1)
        first_homes = dict(self._homes)
        crowd = Counter(self._homes.values())
        saved: Counter[str] = Counter()
        # The most that a client can save is looked up again when its turn comes: others moved.
        waiting = [(-self._best(client, names)[0], client) for client in sorted(self._of_client)]
        heapify(waiting)
        for _ in range(MOST_STEPS):
            if not waiting or -waiting[0][0] < least:
                break
            hoped, client = heappop(waiting)
            free = [name for name in names if crowd[name] < most]
            saving, better = self._best(client, free)
            if saving < least:
                continue
            if saving < -hoped and waiting and saving < -waiting[0][0]:
                heappush(waiting, (-saving, client))
                continue
            crowd.subtract([self._homes[client]])
            crowd.update([better])
            self._move(client, better)
            saved[client] += saving
            heappush(waiting, (-self._best(client, names)[0], client))
        moves = [
            Move(client, first_homes[client], self._homes[client], saving)
            for client, saving in saved.most_common()
            if self._homes[client] != first_homes[client]
        ]
        return Advice(moves, before, self._total())

    def _best(self, client: str, brokers: list[str]) -> tuple[int, str]:
        """The most that it can save, and where."""
        found = ((self._saving(client, name), name) for name in brokers)
        return max(found, default=(0, ""))

    def _total(self) -> int:
        return sum(self._cost(number) for number in range(len(self._flows)))

    def _cost(self, number: int) -> int:
        crossed = self._routes.crossed(self._entries[number], self._reading[number])
        return self._flows[number].size * len(crossed)

    def _saving(self, client: str, broker: str) -> int:
        home = self._homes[client]
        if broker == home:
            return 0
        numbers = self._of_client[client]
        before = sum(self._cost(number) for number in numbers)
        self._move(client, broker)
        after = sum(self._cost(number) for number in numbers)
        self._move(client, home)
        return before - after

    def _move(self, client: str, broker: str) -> None:
        home = self._homes[client]
        self._homes[client] = broker
        for number in self._of_client[client]:
            flow = self._flows[number]
            if flow.publisher == client and self._follows[number]:
                self._entries[number] = broker
            if client in flow.readers:
                reading = self._reading[number]
                reading[home] -= 1
                if not reading[home]:
                    del reading[home]
                reading[broker] += 1
