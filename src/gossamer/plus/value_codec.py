"""Last values of topics as bytes, in few where topics resemble each other and values are integers.

    topic      as in counts of windows (`plus/partial_codec.py`)
    kind       what follows: nothing, an integer or a float; whether it has a validity of its own
    time       microseconds before the latest in the message
    validity   milliseconds from that time, if it is not what most of the message have

Whatever is wrong with bytes is a ValueError, before anything is made of them.
"""

import math
from typing import Final

from gossamer.plus.entered_values import ToldValue
from gossamer.plus.operators.aggregate import MOST_ORDER, finite
from gossamer.plus.partial_codec import (
    PIECE_BYTES,
    PIECE_TOPICS,
    PartReader,
    put_float,
    put_integer,
    put_size,
    put_topic,
    sorted_by_topic,
)

_OUT: Final = 0
_INTEGER: Final = 1
_FLOAT: Final = 2
_OWN_VALIDITY: Final = 4  # added to one of those
# What a float writes in fewer bytes as an integer.
_MOST_INTEGER: Final = 1 << 42
_MICROS: Final = 1_000_000
# Of a validity: a thousand years.
_MOST_MILLIS: Final = 31_600_000_000_000

Values = dict[str, ToldValue]


def packed_values(values: Values) -> list[bytes]:
    """In as many pieces as it takes; none of nothing."""
    pieces: list[bytes] = []
    items = sorted_by_topic(values)
    for start in range(0, len(items), PIECE_TOPICS):
        some = items[start : start + PIECE_TOPICS]
        latest = max([value.order for _, value in some])
        common = _common([_validity(value) for _, value in some if not value.is_out])
        piece = _begun(latest, common)
        before = b""
        for topic, value in some:
            if len(piece) >= PIECE_BYTES:
                pieces.append(bytes(piece))
                piece = _begun(latest, common)
                before = b""
            put_topic(piece, topic, before)
            _put_value(piece, value, latest, common)
            before = topic
        pieces.append(bytes(piece))
    return pieces


def unpacked_values(data: bytes) -> Values:
    """ValueError for what `packed_values` did not make."""
    reader = PartReader(data)
    latest = _bounded(reader.size(), MOST_ORDER)
    common = _bounded(reader.size(), _MOST_MILLIS)
    values: Values = {}
    before = b""
    while reader.at < len(data):
        if len(values) >= PIECE_TOPICS:
            raise ValueError("too many topics")
        topic = reader.topic(before)
        values[topic.decode()] = _read_value(reader, latest, common)
        before = topic
    return values


def _begun(latest: int, common: int) -> bytearray:
    piece = bytearray()
    put_size(piece, latest)
    put_size(piece, common)
    return piece


def _put_value(piece: bytearray, value: ToldValue, latest: int, common: int) -> None:
    if value.is_out:
        piece.append(_OUT)
        put_size(piece, latest - value.order)
        return
    number = value.value
    is_integer = abs(number) < _MOST_INTEGER and number == int(number)
    validity = _validity(value)
    own = _OWN_VALIDITY if validity != common else 0
    piece.append((_INTEGER if is_integer else _FLOAT) | own)
    if is_integer:
        put_integer(piece, int(number))
    else:
        put_float(piece, number)
    put_size(piece, latest - value.order)
    if own:
        put_size(piece, validity)


def _read_value(reader: PartReader, latest: int, common: int) -> ToldValue:
    kind = reader.byte()
    what = kind & ~_OWN_VALIDITY
    if what == _OUT:
        number = 0.0
    elif what == _INTEGER:
        number = float(_bounded_integer(reader.integer()))
    elif what == _FLOAT:
        number = finite(reader.float())
    else:
        raise ValueError("a value of an unknown kind")
    order = latest - _bounded(reader.size(), latest)
    validity = _bounded(reader.size(), _MOST_MILLIS) if kind & _OWN_VALIDITY else common
    return ToldValue(number, what == _OUT, order, order / _MICROS + validity / 1000)


def _validity(value: ToldValue) -> int:
    """In milliseconds, rounded up: nothing ends early because it was told."""
    millis = math.ceil(round((value.valid_until - value.order / _MICROS) * 1000, 1))
    return min(max(0, millis), _MOST_MILLIS)


def _common(validities: list[int]) -> int:
    """That most of them have."""
    counts: dict[int, int] = {}
    for each in validities:
        counts[each] = counts.get(each, 0) + 1
    found = 0
    for each, count in counts.items():
        if count > counts.get(found, 0):
            found = each
    return found


def _bounded(number: int, most: int) -> int:
    if number > most:
        raise ValueError("a number out of its range")
    return number


def _bounded_integer(number: int) -> int:
    if abs(number) >= _MOST_INTEGER:
        raise ValueError("an integer out of its range")
    return number
