"""Roads of a trial: they deliver in pieces, and some watch what crosses them."""

from collections.abc import Callable

from gossamer.broker.retained_stamps import STAMP_PROPERTY
from gossamer.session.message_names import NAME_BYTES, without_name
from gossamer.sim.network import End, Road
from gossamer.wire.frames import header_length, packet_length
from gossamer.wire.packets import PUBLISH


class RoadWatch:
    """No message crosses a link twice in one direction, but when a broken link is resumed. What
    is retained is told again where it is missing."""

    def __init__(self, fault: Callable[[str], None]) -> None:
        self._fault = fault
        self._end: End | None = None
        self._crossed: set[bytes] = set()

    def see(self, end: End, data: bytes) -> None:
        """Whole packets on their way to an end; an end belongs to one connection."""
        if end is not self._end:
            self._end = end
            self._crossed = set()
        position = 0
        while position < len(data):
            body = position + header_length(data, position)
            stop = position + packet_length(data, position)
            if data[position] >> 4 == PUBLISH:
                self._see_publish(data[position], data[body:stop])
            position = stop

    def _see_publish(self, head: int, body: bytes) -> None:
        after_topic = 2 + int.from_bytes(body[:2], "big")
        name, _ = without_name(body, after_topic + (2 if head & 0x06 else 0))
        name = name[:NAME_BYTES]
        stamp = body.find(STAMP_PROPERTY.encode())
        if stamp >= 0 and body[stamp + len(STAMP_PROPERTY) + 2 :].startswith(b"r;"):
            return
        if name and name in self._crossed:
            self._fault(f"a message on {body[2:after_topic].decode()} crossed a link twice")
        self._crossed.add(name)


class RoughRoad(Road):
    """Delivers in pieces, each in its own time."""

    def __init__(self, latency: float) -> None:
        super().__init__(latency)
        self.watch: RoadWatch | None = None

    def carry(
        self, end: End, data: bytes, leaves: float, publications: int, interests: int
    ) -> None:
        if self.watch is not None:
            self.watch.see(end, data)
        super().carry(end, data, leaves, publications, interests)

    def deliver(self, end: End, data: bytes, at: float, publications: int, interests: int) -> None:
        while len(data) > 1 and self.random.random() < 0.2:
            size = self.random.randrange(1, len(data))
            super().deliver(end, data[:size], at, 0, 0)
            data = data[size:]
            at += self.random.uniform(0.0, 0.01)
        super().deliver(end, data, at, publications, interests)
