"""Sparkplug B: the metrics of a payload that have a name, with their values.

Only what fields need is read of the protocol buffers; whatever else stands there is passed over. A
metric that is sent by its alias alone, without its name, is not a field: what it is called was said
in another message.
"""

from base64 import b64encode
from struct import unpack_from
from typing import Final

_MOST_METRICS: Final = 10_000

# Numbers of fields in Payload and Metric.
_METRICS: Final = 2
_NAME: Final = 1
_DATATYPE: Final = 4
_IS_NULL: Final = 7
_INT: Final = 10
_LONG: Final = 11
_FLOAT: Final = 12
_DOUBLE: Final = 13
_BOOLEAN: Final = 14
_STRING: Final = 15
_BYTES: Final = 16
# Types whose numbers are signed, and come in two's complement of 32 or 64 bits.
_INT8: Final = 1
_INT64: Final = 4

# How fields are encoded.
_VARINT: Final = 0
_EIGHT_BYTES: Final = 1
_SIZED: Final = 2
_FOUR_BYTES: Final = 5


class SparkplugError(ValueError):
    """It is no Sparkplug payload."""


def read_sparkplug(data: bytes) -> dict[str, object]:
    """Values by the metrics' names; the last of one name counts."""
    reader = _Fields(data, 0, len(data))
    found: dict[str, object] = {}
    count = 0
    while reader.next():
        if reader.number == _METRICS and reader.kind == _SIZED:
            count += 1
            if count > _MOST_METRICS:
                raise SparkplugError("too many metrics")
            name, value = _metric(_Fields(data, reader.start, reader.end))
            if name:
                found[name] = value
    return found


def _metric(fields: "_Fields") -> tuple[str, object]:
    name = ""
    datatype = 0
    is_null = False
    value: object = None
    while fields.next():
        number = fields.number
        if number == _NAME:
            name = fields.text()
        elif number == _DATATYPE:
            datatype = fields.value
        elif number == _IS_NULL:
            is_null = fields.value != 0
        elif number in (_INT, _LONG):
            fields.expect(_VARINT)
            value = fields.value
        elif number == _FLOAT:
            fields.expect(_FOUR_BYTES)
            value = _finite(unpack_from("<f", fields.data, fields.start)[0])
        elif number == _DOUBLE:
            fields.expect(_EIGHT_BYTES)
            value = _finite(unpack_from("<d", fields.data, fields.start)[0])
        elif number == _BOOLEAN:
            fields.expect(_VARINT)
            value = fields.value != 0
        elif number == _STRING:
            value = fields.text()
        elif number == _BYTES:
            fields.expect(_SIZED)
            value = b64encode(fields.data[fields.start : fields.end]).decode()
    if is_null:
        return name, None
    if _INT8 <= datatype <= _INT64 and isinstance(value, int) and not isinstance(value, bool):
        bits = 64 if datatype == _INT64 else 32
        if value >= 1 << (bits - 1):
            value -= 1 << bits
    return name, value


def _finite(value: float) -> object:
    return value if value - value == 0.0 else None


class _Fields:
    """Of one message, one after the other: its number, and where its bytes are, or its value."""

    def __init__(self, data: bytes, at: int, stop: int) -> None:
        self.data = data
        self._at = at
        self._stop = stop
        self.number = 0
        self.kind = _VARINT
        self.value = 0
        self.start = 0
        self.end = 0

    def next(self) -> bool:
        """False at the end."""
        if self._at >= self._stop:
            return False
        key = self._varint()
        self.number = key >> 3
        self.kind = key & 7
        if self.kind == _VARINT:
            self.value = self._varint()
            return True
        if self.kind == _EIGHT_BYTES:
            size = 8
        elif self.kind == _FOUR_BYTES:
            size = 4
        elif self.kind == _SIZED:
            size = self._varint()
        else:
            raise SparkplugError("a field of an unknown kind")
        self.start = self._at
        self.end = self._at + size
        if self.end > self._stop:
            raise SparkplugError("it ends early")
        self._at = self.end
        return True

    def expect(self, kind: int) -> None:
        if self.kind != kind:
            raise SparkplugError("a value of another kind than its field")

    def text(self) -> str:
        self.expect(_SIZED)
        try:
            return self.data[self.start : self.end].decode()
        except UnicodeDecodeError:
            raise SparkplugError("a text is not UTF-8") from None

    def _varint(self) -> int:
        value = 0
        shift = 0
        while shift < 70 and self._at < self._stop:
            byte = self.data[self._at]
            self._at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value & 0xFFFF_FFFF_FFFF_FFFF
            shift += 7
        raise SparkplugError("a number that does not end")
