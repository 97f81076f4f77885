"""A payload as typed readings: a number, a text, or one for each field of a JSON document.

A field is named by its JSON pointer (`/sensor/temp`), as MQTT+ names it; the whole payload has the
empty name. Numbers and documents are read by the broker's own rules. What cannot be read has a
reason.
"""

import math
import re
from typing import Final, NamedTuple

from gossamer.plus.limits import MAX_JSON_BYTES
from gossamer.plus.values import read_document, read_number, text_of

# Deeper values stay one reading, as JSON text. Sensors nest two or three levels.
DEEPEST: Final = 8
# A message of more fields is a table or an attack; each would be a series of its own.
MOST_FIELDS: Final = 1_000

_LOOKS_LIKE_JSON: Final = re.compile(r'[ \t\n\r]*(?:[\[{"]|(?:true|false|null)[ \t\n\r]*\Z)')
_OPENS_DOCUMENT: Final = re.compile(r"[ \t\n\r]*[\[{]")

NUMBER: Final = "number"
TEXT: Final = "text"
BOOLEAN: Final = "boolean"
NULL: Final = "null"
JSON: Final = "json"


class FieldReading(NamedTuple):
    field: str
    kind: str
    number: float | None  # finite
    text: str | None


class Unreadable(ValueError):
    """The text is the reason."""


def read_payload(payload: bytes) -> list[FieldReading]:
    """Raises Unreadable. A document without values has no readings."""
    number = read_number(payload)
    if math.isfinite(number):
        return [FieldReading("", NUMBER, number, None)]
    if math.isinf(number):
        raise Unreadable("it is a number out of range")
    if not payload:
        raise Unreadable("it is empty")
    if len(payload) > MAX_JSON_BYTES:
        raise Unreadable(f"it is over {MAX_JSON_BYTES} bytes")
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8") from None
    if _LOOKS_LIKE_JSON.match(text) is None:
        return [FieldReading("", TEXT, None, text)]
    try:
        document = read_document(text)
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None
    except ValueError:
        if _OPENS_DOCUMENT.match(text) is None:
            return [FieldReading("", TEXT, None, text)]
        raise Unreadable("it is not JSON") from None
    return flatten(document)


def flatten(document: object) -> list[FieldReading]:
    """Fields in the order of the document. Raises Unreadable if there are too many."""
    found: list[FieldReading] = []
    _add(found, "", document, 0)
    return found


def _add(found: list[FieldReading], field: str, value: object, depth: int) -> None:
    if isinstance(value, dict | list) and depth < DEEPEST:
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for name, member in members:
            _add(found, f"{field}/{_escaped(str(name))}", member, depth + 1)
        return
    if len(found) == MOST_FIELDS:
        raise Unreadable(f"it has over {MOST_FIELDS} fields")
    found.append(_typed(field, value))


def _typed(field: str, value: object) -> FieldReading:
    if isinstance(value, bool):
        return FieldReading(field, BOOLEAN, None, text_of(value))
    if isinstance(value, int | float):
        return FieldReading(field, NUMBER, float(value) if math.isfinite(value) else None, None)
    if isinstance(value, str):
        return FieldReading(field, TEXT, None, _whole(value))
    if value is None:
        return FieldReading(field, NULL, None, None)
    return FieldReading(field, JSON, None, _whole(text_of(value)))


def _escaped(name: str) -> str:
    return _whole(name.replace("~", "~0").replace("/", "~1"))


def _whole(text: str) -> str:
    """JSON can spell half a surrogate pair, which no UTF-8 can hold: it becomes a `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
