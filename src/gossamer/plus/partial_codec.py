"""Counts of a window as bytes: topics that resemble each other in few, and what running aggregates
save as it is. Whatever is wrong with bytes is a ValueError, before anything is made of them.

    topic      bytes that it begins with as the one before, bytes that it ends with likewise,
               bytes between, and those
    integer    a sign in the lowest bit, and seven bits in each byte, the lowest first
    float      eight bytes
    list       how many integers, and those

Topics are sorted by their bytes. In which order an aggregate saves what, all brokers know: a fresh
one of the same function shows it.
"""

import struct
from operator import itemgetter
from typing import Final, TypeVar

from gossamer.plus.limits import MAX_TOPIC_BYTES
from gossamer.plus.operators.aggregate import Aggregate, Saved
from gossamer.plus.operators.kinds import AggregateKind
from gossamer.plus.operators.quantile import MAX_BUCKETS

# A piece ends when it has so many bytes, or topics: it is read within a few milliseconds.
PIECE_BYTES: Final = 32_768
PIECE_TOPICS: Final = 1_000
# The squares of doubles add up to some 4,300 bits.
_MOST_VARINT: Final = 640
_FLOAT: Final = struct.Struct(">d")

Counts = dict[str, Aggregate]
Item = TypeVar("Item")


def packed_pieces(topics: Counts) -> list[bytes]:
    """At least one, which may be empty."""
    pieces: list[bytes] = []
    piece = bytearray()
    count = 0
    before = b""
    for topic, aggregate in sorted_by_topic(topics):
        if count >= PIECE_TOPICS or len(piece) >= PIECE_BYTES:
            pieces.append(bytes(piece))
            piece = bytearray()
            count = 0
            before = b""
        put_topic(piece, topic, before)
        for item in aggregate.save():
            if isinstance(item, list):
                put_size(piece, len(item))
                for number in item:
                    put_integer(piece, number)
            elif isinstance(item, int):
                put_integer(piece, item)
            else:
                put_float(piece, item)
        before = topic
        count += 1
    pieces.append(bytes(piece))
    return pieces


def unpacked_piece(data: bytes, function: AggregateKind) -> Counts:
    """The counts of one piece; ValueError for what `packed_pieces` made of no such function."""
    shape = _shape(function)
    reader = PartReader(data)
    topics: Counts = {}
    before = b""
    while reader.at < len(data):
        if len(topics) >= PIECE_TOPICS:
            raise ValueError("too many topics")
        topic = reader.topic(before)
        saved: Saved = [reader.item(kind) for kind in shape]
        aggregate = function.running()
        try:
            aggregate.restore(saved)
        except (TypeError, IndexError) as error:
            raise ValueError(str(error)) from None
        topics[topic.decode()] = aggregate
        before = topic
    return topics


def sorted_by_topic(topics: dict[str, Item]) -> list[tuple[bytes, Item]]:
    """By their bytes, as pieces have them."""
    return sorted([(topic.encode(), item) for topic, item in topics.items()], key=itemgetter(0))


def _shape(function: AggregateKind) -> str:
    """The kinds of what it saves: i, f and l for a list of integers."""
    kinds = [
        "l" if isinstance(item, list) else "i" if isinstance(item, int) else "f"
        for item in function.running().save()
    ]
    return "".join(kinds)


def put_topic(piece: bytearray, topic: bytes, before: bytes) -> None:
    most = min(len(topic), len(before))
    head = 0
    while head < most and topic[head] == before[head]:
        head += 1
    tail = 0
    while tail < most - head and topic[-1 - tail] == before[-1 - tail]:
        tail += 1
    put_size(piece, head)
    put_size(piece, tail)
    middle = topic[head : len(topic) - tail]
    put_size(piece, len(middle))
    piece += middle


def put_float(piece: bytearray, number: float) -> None:
    piece += _FLOAT.pack(number)


def put_integer(piece: bytearray, number: int) -> None:
    put_size(piece, number << 1 if number >= 0 else (-number << 1) - 1)


def put_size(piece: bytearray, number: int) -> None:
    while number > 127:
        piece.append(number & 127 | 128)
        number >>= 7
    piece.append(number)


class PartReader:
    __slots__ = ("_data", "at")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def topic(self, before: bytes) -> bytes:
        """Behind that one in their order."""
        head = self.size()
        tail = self.size()
        middle = self.size()
        start = self.at
        self.at += middle
        if (
            head + tail > len(before)
            or self.at > len(self._data)
            or not 0 < head + middle + tail <= MAX_TOPIC_BYTES
        ):
            raise ValueError("a topic that is cut off")
        ending = before[len(before) - tail :]
        topic = before[:head] + self._data[start : self.at] + ending
        name = topic.decode()  # a UnicodeDecodeError is a ValueError
        if topic <= before or "\0" in name or "+" in name or "#" in name:
            raise ValueError("a topic that is none, or out of order")
        return topic

    def item(self, kind: str) -> int | float | list[int]:
        if kind == "i":
            return self.integer()
        if kind == "f":
            return self.float()
        count = self.size()
        if count > 2 * MAX_BUCKETS:
            raise ValueError("a list that is too long")
        return [self.integer() for _ in range(count)]

    def byte(self) -> int:
        if self.at >= len(self._data):
            raise ValueError("a byte that is cut off")
        self.at += 1
        return self._data[self.at - 1]

    def float(self) -> float:
        self.at += _FLOAT.size
        if self.at > len(self._data):
            raise ValueError("a number that is cut off")
        value: float = _FLOAT.unpack_from(self._data, self.at - _FLOAT.size)[0]
        return value

    def integer(self) -> int:
        number = self.size()
        return -((number + 1) >> 1) if number & 1 else number >> 1

    def size(self) -> int:
        data = self._data
        number = 0
        shift = 0
        start = self.at
        while True:
            if self.at >= len(data) or self.at - start >= _MOST_VARINT:
                raise ValueError("a number that is cut off")
            part = data[self.at]
            self.at += 1
            number |= (part & 127) << shift
            shift += 7
            if part < 128:
                return number
