"""What a neighbour says in JSON, read with types and ranges: anything else is its error.

JSON can say more than any broker of ours means: numbers that no register holds, text that is none,
lists where a name should be. Whoever reads a field here gets what it asked for, or a ProtocolError
before anything has changed. Fields that are not asked for may be of a later version.
"""

import json
import math
from typing import Final, NoReturn

from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

# As long as any text in MQTT.
MOST_TEXT: Final = 65_535  # bytes
# What a store takes, and what is left of it for counting on.
MOST_NUMBER: Final = (1 << 62) - 1


def malformed(what: str) -> ProtocolError:
    return ProtocolError(reasons.MALFORMED_PACKET, f"a neighbour sent {what}")


def read_json(data: bytes | str, what: str) -> object:
    """`what` names it in the error."""
    try:
        found: object = json.loads(data, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        raise malformed(f"{what} that is malformed") from None
    return found


def read_fields(data: bytes | str, what: str) -> "JsonFields":
    found = read_json(data, what)
    if not isinstance(found, dict):
        raise malformed(f"{what} that is malformed")
    return JsonFields(found, what)


class JsonFields:
    """An object's fields by name."""

    __slots__ = ("_what", "fields")

    def __init__(self, fields: dict[str, object], what: str) -> None:
        self.fields = fields
        self._what = what

    def text(self, name: str) -> str:
        return text_of(self.fields.get(name), f"{self._what} without {name}")

    def number(self, name: str, lowest: int = 0, highest: int = MOST_NUMBER) -> int:
        what = f"{self._what} without {name}"
        return number_of(self.fields.get(name), lowest, highest, what)

    def real(self, name: str, lowest: float, highest: float) -> float:
        what = f"{self._what} without {name}"
        return real_of(self.fields.get(name), lowest, highest, what)

    def flag(self, name: str) -> bool:
        """False if it is not there."""
        return self.fields.get(name) is True

    def items(self, name: str, most: int) -> list[object]:
        return list_of(self.fields.get(name), most, f"{self._what} without {name}")

    def texts(self, name: str, most: int) -> list[str]:
        what = f"{self._what} without {name}"
        return [text_of(each, what) for each in self.items(name, most)]

    def numbers(self, name: str, most: int, lowest: int, highest: int) -> list[int]:
        what = f"{self._what} without {name}"
        return [number_of(each, lowest, highest, what) for each in self.items(name, most)]

    def binary(self, name: str, unit: int, most: int) -> bytes:
        """Hexadecimal digits, of so many bytes each and so many of them at most."""
        what = f"{self._what} without {name}"
        value = self.fields.get(name)
        try:
            data = bytes.fromhex(value) if isinstance(value, str) else None
        except ValueError:
            data = None
        if data is None or len(data) % unit or len(data) > unit * most:
            raise malformed(what)
        return data


def text_of(value: object, what: str) -> str:
    """Text as MQTT has it: no longer, no U+0000, nothing that UTF-8 cannot say."""
    if not isinstance(value, str) or "\0" in value:
        raise malformed(what)
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise malformed(what) from None
    if size > MOST_TEXT:
        raise malformed(what)
    return value


def number_of(value: object, lowest: int, highest: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise malformed(what)
    return value


def real_of(value: object, lowest: float, highest: float, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise malformed(what)
    if not lowest <= value <= highest:
        raise malformed(what)
    return float(value)


def list_of(value: object, most: int, what: str) -> list[object]:
    if not isinstance(value, list) or len(value) > most:
        raise malformed(what)
    return value


def _refuse(_constant: str) -> NoReturn:
    raise ValueError


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError
    return value
