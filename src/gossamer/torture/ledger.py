"""The books: what was sent, what was acknowledged, who received it; and every broken promise."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Key:
    """One message: the `number`-th of its stream; a stream is one publisher at one QoS."""

    stream: str
    number: int

    def payload(self, size: int) -> bytes:
        return f"{self.stream}:{self.number}:".encode().ljust(size, b".")

    @staticmethod
    def of(payload: bytes) -> "Key":
        stream, number, _ = payload.split(b":", 2)
        return Key(stream.decode(), int(number))


@dataclass
class Receipts:
    """What one subscriber has of one stream."""

    counts: dict[int, int] = field(default_factory=dict)
    latest: int = 0  # the highest number received


class Ledger:
    def __init__(self, subscribers: list[str]) -> None:
        self.faults: list[str] = []
        self.kills = 0
        self.sent: dict[str, int] = {}  # how many of each stream
        self.acknowledged: dict[str, set[int]] = {}
        self.repeated = 0  # QoS 1 messages received again, as the protocol allows
        self.received = 0  # first receipts
        self._receipts: dict[str, dict[str, Receipts]] = {name: {} for name in subscribers}

    def next_key(self, stream: str) -> Key:
        number = self.sent.get(stream, 0) + 1
        self.sent[stream] = number
        return Key(stream, number)

    def note_acknowledged(self, key: Key) -> None:
        self.acknowledged.setdefault(key.stream, set()).add(key.number)

    def note_received(self, subscriber: str, key: Key, qos: int) -> None:
        receipts = self._receipts[subscriber].setdefault(key.stream, Receipts())
        count = receipts.counts.get(key.number, 0)
        receipts.counts[key.number] = count + 1
        if count:
            self.repeated += 1
            if qos == 2:
                self.fault(f"{subscriber} got {key.stream}:{key.number} twice at QoS 2")
            return
        self.received += 1
        if key.number < receipts.latest:
            self.fault(f"{subscriber} got {key.stream}:{key.number} after {receipts.latest}")
        receipts.latest = max(receipts.latest, key.number)

    def fault(self, text: str) -> None:
        self.faults.append(text)

    @property
    def all_sent(self) -> int:
        return sum(self.sent.values())

    @property
    def all_acknowledged(self) -> int:
        return sum(len(numbers) for numbers in self.acknowledged.values())

    @property
    def backlog(self) -> int:
        """Receipts that are still to come."""
        return self.all_sent * len(self._receipts) - self.received

    def close(self) -> None:
        """Everything acknowledged must have arrived everywhere."""
        for subscriber, streams in self._receipts.items():
            for stream, acknowledged in self.acknowledged.items():
                received = streams.get(stream, Receipts()).counts
                lost = sorted(acknowledged - received.keys())
                if lost:
                    self.fault(
                        f"{subscriber} never got {len(lost)} acknowledged messages of {stream}, "
                        f"the first is number {lost[0]}"
                    )
