"""Says in words what a key may hold, from its type: for errors and for the reference."""

import types
from typing import Any, Final, Literal, Union, get_args, get_origin

import annotated_types
from pydantic.fields import FieldInfo

from gossamer.net.config.section import Section
from gossamer.net.config.units import Allowed

PLAIN: Final[dict[object, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
}


def allowed(field: FieldInfo) -> str:
    """What the key may hold."""
    return _describe(field.annotation, list(field.metadata))


def section_of(field: FieldInfo) -> type[Section] | None:
    """The model of a key that is a table (or an array of tables), else None."""
    return _section_in(field.annotation)


def _section_in(annotation: Any) -> type[Section] | None:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    for inner in get_args(annotation):
        if (found := _section_in(inner)) is not None:
            return found
    return None


def _describe(annotation: Any, metadata: list[Any]) -> str:
    if hasattr(annotation, "__metadata__"):
        return _describe(annotation.__origin__, [*annotation.__metadata__, *metadata])
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return _describe(next(one for one in inner if one is not type(None)), metadata)
    if origin is Literal:
        return "one of " + ", ".join(f'"{value}"' for value in inner)
    if origin is tuple:
        return "a list, each " + _describe(inner[0], [])
    if _section_in(annotation) is not None:
        return "a table"
    words = next((one.text for one in metadata if isinstance(one, Allowed)), "")
    return (words or PLAIN.get(annotation, "a text")) + _bounds(metadata)


def _bounds(metadata: list[Any]) -> str:
    if any(isinstance(one, Allowed) and " to " in one.text for one in metadata):
        return ""
    parts: list[str] = []
    for one in metadata:
        for constraint in [one, *getattr(one, "metadata", [])]:
            if isinstance(constraint, annotated_types.Ge):
                parts.append(f"at least {constraint.ge}")
            elif isinstance(constraint, annotated_types.Gt):
                parts.append(f"more than {constraint.gt}")
            elif isinstance(constraint, annotated_types.Le):
                parts.append(f"at most {constraint.le}")
    if any(part.startswith("more than 0") for part in parts):
        parts = [part for part in parts if part != "at least 0"]
    return ", " + " and ".join(parts) if parts else ""
