"""The books: what was sent, what was acknowledged, who received it; and every broken promise."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MessageKey:
    """One message: the `number`-th of its stream; a stream is one publisher at one QoS."""

    stream: str
    number: int

    def payload(self, size: int) -> bytes:
        return f"{self.stream}:{self.number}:".encode().ljust(size, b".")

    @staticmethod
    def of(payload: bytes) -> "MessageKey":
        stream, number, _ = payload.split(b":", 2)
        return MessageKey(stream.decode(), int(number))


class Numbers:
    """A set of numbers from 1 on, small as long as few are missing below the highest: a run of an
    hour has millions of them."""

    def __init__(self) -> None:
        self._whole = 0  # this and all below
        self._beyond: set[int] = set()

    def __contains__(self, number: int) -> bool:
        return number <= self._whole or number in self._beyond

    def __len__(self) -> int:
        return self._whole + len(self._beyond)

    @property
    def highest(self) -> int:
        return max(self._beyond, default=self._whole)

    def add(self, number: int) -> bool:
        """Whether it is new."""
        if number in self:
            return False
        self._beyond.add(number)
        while self._whole + 1 in self._beyond:
            self._whole += 1
            self._beyond.remove(self._whole)
        return True

    def without(self, others: "Numbers") -> list[int]:
        """Those that the others lack, in order."""
        first = min(self._whole, others._whole) + 1
        numbers = [*range(first, self._whole + 1), *sorted(self._beyond)]
        return [number for number in numbers if number not in others]


class DeliveryLedger:
    """`subscribers` want every stream, unless `wanted` names those of one of them. The order of a
    stream is judged where only one way leads to its subscribers."""

    def __init__(
        self,
        subscribers: list[str],
        wanted: dict[str, frozenset[str]] | None = None,
        is_ordered: bool = True,
    ) -> None:
        self.faults: list[str] = []
        self.kills = 0
        self.sent: dict[str, int] = {}  # how many of each stream
        self.acknowledged: dict[str, Numbers] = {}
        self.repeated = 0  # QoS 1 messages received again, as the protocol allows
        self.received = 0  # first receipts
        self._receipts: dict[str, dict[str, Numbers]] = {name: {} for name in subscribers}
        self._wanted = wanted or {}
        self._is_ordered = is_ordered

    def next_key(self, stream: str) -> MessageKey:
        number = self.sent.get(stream, 0) + 1
        self.sent[stream] = number
        return MessageKey(stream, number)

    def note_acknowledged(self, key: MessageKey) -> None:
        self.acknowledged.setdefault(key.stream, Numbers()).add(key.number)

    def note_received(self, subscriber: str, key: MessageKey, qos: int) -> None:
        receipts = self._receipts[subscriber].setdefault(key.stream, Numbers())
        latest = receipts.highest if self._is_ordered else 0
        if not receipts.add(key.number):
            self.repeated += 1
            if qos == 2:
                self.fault(f"{subscriber} got {key.stream}:{key.number} twice at QoS 2")
            return
        self.received += 1
        if key.number < latest:
            self.fault(f"{subscriber} got {key.stream}:{key.number} after {latest}")

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
        due = sum(
            sent
            for subscriber in self._receipts
            for stream, sent in self.sent.items()
            if self._wants(subscriber, stream)
        )
        return due - self.received

    def close(self) -> None:
        """Everything acknowledged must have arrived everywhere."""
        for subscriber, streams in self._receipts.items():
            for stream, acknowledged in self.acknowledged.items():
                if not self._wants(subscriber, stream):
                    continue
                lost = acknowledged.without(streams.get(stream, Numbers()))
                if lost:
                    self.fault(
                        f"{subscriber} never got {len(lost)} acknowledged messages of {stream}, "
                        f"the first is number {lost[0]}"
                    )

    def _wants(self, subscriber: str, stream: str) -> bool:
        wanted = self._wanted.get(subscriber)
        return wanted is None or stream in wanted
