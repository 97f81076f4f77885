"""CBOR (RFC 8949) to what JSON can say, for payloads of strangers that are read on the event loop.

Every well-formed item is read, of definite and of indefinite length. Tags are read and what they
tag is taken as it is, but for large integers and decimal fractions, which are numbers. Nothing is
shared or expanded, so that what comes out is never much larger than what came in.
"""

import math
from base64 import b64encode
from struct import unpack_from
from typing import Final

# As deep as a document that anybody reads a field of; each level is a call.
MOST_DEPTH: Final = 64
_BREAK: Final = object()

_LARGE: Final = 2
_LARGE_NEGATIVE: Final = 3
_DECIMAL: Final = 4
# Doubles end far below 10**400, and numbers of more bytes than this are beyond them.
_MOST_EXPONENT: Final = 400
_MOST_NUMBER_BYTES: Final = 128


class CborError(ValueError):
    """It is not CBOR, or has what JSON cannot say."""


def read_cbor(data: bytes) -> object:
    """The one item that it is. CborError, or RecursionError if it is nested too deeply."""
    reader = _Reader(data)
    found = reader.item(0)
    if found is _BREAK or reader.at != len(data):
        raise CborError("it is not one item")
    return found


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def item(self, depth: int) -> object:
        if depth > MOST_DEPTH:
            raise RecursionError("nested too deeply")
        first = self._byte()
        major = first >> 5
        if major == 7:
            return self._simple(first & 31)
        size = self._size(first & 31)
        if major == 0:
            return _whole(size)
        if major == 1:
            return -1 - _whole(size)
        if major == 2:
            return b64encode(self._bytes(size, 2)).decode()
        if major == 3:
            return _text(self._bytes(size, 3))
        if major == 4:
            return self._array(size, depth)
        if major == 5:
            return self._map(size, depth)
        return self._tagged(_whole(size), depth)

    def _array(self, size: int, depth: int) -> object:
        found: list[object] = []
        while size < 0 or len(found) < size:
            item = self.item(depth + 1)
            if item is _BREAK:
                if size >= 0:
                    raise CborError("an array ends early")
                break
            found.append(item)
        return found

    def _map(self, size: int, depth: int) -> object:
        found: dict[str, object] = {}
        left = size
        while left != 0:
            left -= 1
            key = self.item(depth + 1)
            if key is _BREAK:
                if size >= 0:
                    raise CborError("a map ends early")
                break
            if isinstance(key, bool) or not isinstance(key, str | int):
                raise CborError("a key is neither a text nor a whole number")
            value = self.item(depth + 1)
            if value is _BREAK:
                raise CborError("a key has no value")
            found[str(key)] = value
        return found

    def _tagged(self, tag: int, depth: int) -> object:
        if tag in (_LARGE, _LARGE_NEGATIVE):
            first = self._byte()
            if first >> 5 != 2:
                raise CborError("a large integer is not of bytes")
            data = self._bytes(self._size(first & 31), 2)
            if len(data) > _MOST_NUMBER_BYTES:
                raise CborError("a number is too large")
            number = int.from_bytes(data, "big")
            return number if tag == _LARGE else -1 - number
        item = self.item(depth + 1)
        if item is _BREAK:
            raise CborError("a tag has nothing to tag")
        if tag == _DECIMAL:
            return _decimal(item)
        return item

    def _simple(self, low: int) -> object:
        if low == 31:
            return _BREAK
        if low == 20 or low == 21:
            return low == 21
        if low == 25:
            return _number(unpack_from(">e", self.data, self._skip(2))[0])
        if low == 26:
            return _number(unpack_from(">f", self.data, self._skip(4))[0])
        if low == 27:
            return _number(unpack_from(">d", self.data, self._skip(8))[0])
        if low == 24 and self._byte() < 32:
            raise CborError("a simple value is not as short as it may be")
        if low > 24:
            raise CborError("a reserved form")
        return None  # null, undefined, and what nobody has given a meaning

    def _bytes(self, size: int, major: int) -> bytes:
        if size >= 0:
            start = self._skip(size)
            return self.data[start : start + size]
        parts: list[bytes] = []
        while True:
            first = self._byte()
            if first == 0xFF:
                return b"".join(parts)
            part = self._size(first & 31)
            if first >> 5 != major or part < 0:
                raise CborError("a string has parts of another kind")
            parts.append(self._bytes(part, major))

    def _size(self, low: int) -> int:
        """Negative for an indefinite one."""
        if low < 24:
            return low
        if low == 31:
            return -1
        if low > 27:
            raise CborError("a reserved form")
        length = 1 << (low - 24)
        start = self._skip(length)
        return int.from_bytes(self.data[start : start + length], "big")

    def _byte(self) -> int:
        return self.data[self._skip(1)]

    def _skip(self, size: int) -> int:
        """Where so many bytes begin."""
        start = self.at
        if size > len(self.data) - start:
            raise CborError("it ends early")
        self.at = start + size
        return start


def _whole(size: int) -> int:
    if size < 0:
        raise CborError("a reserved form")
    return size


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise CborError("a text is not UTF-8") from None


def _number(value: float) -> object:
    """What JSON has no number for is null."""
    return value if math.isfinite(value) else None


def _decimal(item: object) -> object:
    if not isinstance(item, list) or len(item) != 2:
        raise CborError("a decimal fraction is not of two numbers")
    exponent, mantissa = item
    for part in (exponent, mantissa):
        if isinstance(part, bool) or not isinstance(part, int):
            raise CborError("a decimal fraction is not of whole numbers")
    if abs(exponent) > _MOST_EXPONENT:
        raise CborError("a number is too large")
    return _number(float(f"{mantissa}e{exponent}"))
