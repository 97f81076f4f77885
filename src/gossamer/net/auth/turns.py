"""What waits for the login threads: a queue for each address, and the addresses take turns.

Whoever comes alone waits for one turn of the others, however many logins one of them has sent. The
whole is bounded. When it is full, the newest of the longest queue gives way, so that a flood pushes
out itself.
"""

from collections import deque
from typing import Generic, TypeVar

from gossamer.broker.rates import network_of

T = TypeVar("T")


class Turns(Generic[T]):
    """`most` is how many wait in all; the address of an IPv6 host is its network."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._queues: dict[str, deque[T]] = {}  # in the order of their turns
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def put(self, address: str, item: T) -> T | None:
        """Lets it wait. Returns who has to give way for it, which may be itself; None if nobody."""
        key = network_of(address)
        queue = self._queues.get(key)
        if self._count >= self.most:
            longest = max(self._queues, key=lambda one: len(self._queues[one]), default=key)
            if len(self._queues.get(longest, ())) <= (0 if queue is None else len(queue)) + 1:
                return item
            gone = self._queues[longest].pop()
            self._count -= 1
        else:
            gone = None
        if queue is None:
            queue = self._queues[key] = deque()
        queue.append(item)
        self._count += 1
        return gone

    def take(self) -> T | None:
        """The oldest of the address whose turn it is; that address goes to the end of the line."""
        if not self._queues:
            return None
        key = next(iter(self._queues))
        queue = self._queues.pop(key)
        item = queue.popleft()
        self._count -= 1
        if queue:
            self._queues[key] = queue
        return item
