"""The last value of each topic, for as long as it is valid.

Expiry costs nothing while values keep coming: a topic has one entry in the heap of expiry times,
and it is looked at again only when that time has come.
"""

from heapq import heapify, heappop, heappush


class LastValue:
    __slots__ = ("expires_at", "order", "queued_at", "value")

    def __init__(self, value: float, expires_at: float, order: int) -> None:
        self.value = value
        self.expires_at = expires_at
        self.order = order  # of arrival, over all topics
        self.queued_at = 0.0  # the time of its entry in the heap, never after `expires_at`


class LastValues:
    __slots__ = ("_expiries", "values")

    def __init__(self) -> None:
        self.values: dict[str, LastValue] = {}
        self._expiries: list[tuple[float, str]] = []

    def put(self, topic: str, value: LastValue) -> LastValue | None:
        """The value that it replaces, if any."""
        old = self.values.get(topic)
        self.values[topic] = value
        if old is not None and old.queued_at <= value.expires_at:
            value.queued_at = old.queued_at
        else:
            value.queued_at = value.expires_at
            heappush(self._expiries, (value.expires_at, topic))
            # Expiry times that keep shrinking leave an entry behind each time.
            if len(self._expiries) > 2 * len(self.values) + 64:
                self._rebuild()
        return old

    def remove(self, topic: str) -> LastValue | None:
        return self.values.pop(topic, None)

    def take_expired(self, now: float) -> list[tuple[str, LastValue]]:
        """Removes those that are no longer valid and returns them."""
        expired: list[tuple[str, LastValue]] = []
        while self._expiries and self._expiries[0][0] <= now:
            at, topic = heappop(self._expiries)
            value = self.values.get(topic)
            if value is None or value.queued_at != at:
                continue
            if value.expires_at <= now:
                del self.values[topic]
                expired.append((topic, value))
            else:
                value.queued_at = value.expires_at
                heappush(self._expiries, (value.expires_at, topic))
        return expired

    def _rebuild(self) -> None:
        for value in self.values.values():
            value.queued_at = value.expires_at
        self._expiries = [(value.expires_at, topic) for topic, value in self.values.items()]
        heapify(self._expiries)
