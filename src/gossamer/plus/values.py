"""Payload bytes to values and back: numbers, JSON documents and their fields, written results.

A field of a document is an RFC 6901 pointer (`/sensor/temp`) or a path (`sensor.temp`).
"""

import json
import math
import re
from typing import Final

from gossamer.plus.limits import MAX_NUMBER_BYTES
from gossamer.plus.plan import Field, PlusError

NAN: Final = math.nan
INFINITY: Final = math.inf
MISSING: Final = object()  # where a document has no such field

# RFC 8259's number, with the white space that JSON allows around a value.
_NUMBER = re.compile(rb"[ \t\n\r]*-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?[ \t\n\r]*")

# An integer up to here keeps its spelling; a longer one is a double like any other number.
_EXACT_INTEGER_DIGITS: Final = 15


def read_number(payload: bytes) -> float:
    """NaN if it is not a JSON number; infinite if it is one that no double can hold."""
    if len(payload) > MAX_NUMBER_BYTES:
        return INFINITY if _NUMBER.fullmatch(payload) else NAN
    if _NUMBER.fullmatch(payload) is None:
        return NAN
    # Adding zero turns -0.0 into 0.0: they are equal, and a result must not depend on which came.
    return float(payload) + 0.0


def write_number(value: float) -> bytes:
    """The shortest decimal that reads back to the same double."""
    return repr(value).encode()


def write_count(value: float) -> bytes:
    return b"%d" % int(value)


def _float(text: str) -> float:
    return float(text) + 0.0 if len(text) <= MAX_NUMBER_BYTES else INFINITY


def _integer(text: str) -> float | int:
    return int(text) if len(text) <= _EXACT_INTEGER_DIGITS else _float(text)


def _refuse_constant(text: str) -> object:
    raise ValueError(f"{text} is not JSON")


_DECODER = json.JSONDecoder(parse_float=_float, parse_int=_integer, parse_constant=_refuse_constant)


def read_document(text: str) -> object:
    """Raises ValueError if it is not JSON, RecursionError if it is nested too deeply."""
    document: object = _DECODER.decode(text)
    return document


def text_of(value: object) -> str:
    """How a JSON value reads to a rule: strings as they are, everything else as compact JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def parse_field(text: str) -> Field:
    """`text` is not empty. Raises PlusError if it is neither a pointer nor a path."""
    if text[0] == "/":
        return Field(text, tuple(_unescaped(step) for step in text[1:].split("/")))
    steps = text.split(".")
    if "" in steps:
        raise PlusError(f"the field {text!r} has an empty step")
    return Field(text, tuple(steps))


def _unescaped(step: str) -> str:
    plain = step.replace("~0", "").replace("~1", "")
    if "~" in plain:
        raise PlusError(f"the pointer step {step!r} has a ~ that is not ~0 or ~1")
    return step.replace("~1", "/").replace("~0", "~")


def look_up(document: object, field: Field) -> object:
    """The value there, or MISSING."""
    value = document
    for step in field.steps:
        if isinstance(value, dict):
            value = value.get(step, MISSING)
        elif isinstance(value, list):
            value = _element(value, step)
        else:
            return MISSING
        if value is MISSING:
            return MISSING
    return value


def _element(values: list[object], step: str) -> object:
    # RFC 6901, section 4: digits only, without leading zeros. Ten digits pass any list's length.
    if (
        not (step.isascii() and step.isdigit())
        or len(step) > 10
        or (step[0] == "0" and step != "0")
    ):
        return MISSING
    index = int(step)
    return values[index] if index < len(values) else MISSING
