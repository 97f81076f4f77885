"""A field of a JSON payload: an RFC 6901 pointer (`/sensor/temp`) or a path (`sensor.temp`)."""

from typing import Final

from gossamer.plus.errors import PlusError

MISSING: Final = object()


class Field:
    """The steps from the document's root to a value."""

    __slots__ = ("steps", "text")

    def __init__(self, text: str, steps: tuple[str, ...]) -> None:
        self.text = text
        self.steps = steps


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
