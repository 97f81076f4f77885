"""TOML text to a `Config`, with every problem named by key, value and what is allowed."""

import tomllib
import types
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin

from gossamer.net.config.root import Config
from gossamer.net.config.section import (
    MISSING,
    NOT_A_LIST,
    NOT_A_TABLE,
    TOO_SHORT,
    UNKNOWN,
    Bounds,
    Key,
    Place,
    Problem,
    Section,
    SectionError,
)
from gossamer.net.config.value_types import Allowed, ConfigError

PLAIN: Final[dict[object, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
}


def allowed(field: Key) -> str:
    """What the key may hold."""
    return _describe(field.annotation, [] if field.bounds is None else [field.bounds])


def section_of(field: Key) -> type[Section] | None:
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
        if isinstance(one, Bounds):
            told = (("at least", one.least), ("more than", one.above), ("at most", one.most))
            parts += [f"{words} {bound}" for words, bound in told if bound is not None]
    if any(part.startswith("more than 0") for part in parts):
        parts = [part for part in parts if part != "at least 0"]
    return ", " + " and ".join(parts) if parts else ""


Model = TypeVar("Model", bound=Section)
LONGEST_VALUE_SHOWN = 60
# Less alike than this, a suggestion only misleads.
_LIKENESS = 0.7
_BRACKETS: Final = {
    NOT_A_LIST: "there may be several of it: write [[{where}]], with two brackets",
    NOT_A_TABLE: "there is one of it: write [{where}], with one bracket",
}


def load(path: Path) -> Config:
    """The configuration in `path`; its relative paths start at the file's folder."""
    return parse(read_text(path), str(path)).at(path.resolve().parent)


def parse(text: str, name: str = "configuration") -> Config:
    """The configuration that `text` spells; paths in it are left as they are."""
    return parse_model(Config, text, name)


def read_text(path: Path) -> str:
    """The text of a file that a person named; what goes wrong is said in one line."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text") from error


def parse_model(model: type[Model], text: str, name: str) -> Model:
    """TOML `text` as a `model`; `name` starts every line of the error."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name}: not TOML: {error}") from error
    try:
        return model.validated(data)
    except SectionError as error:
        raise ConfigError(*(f"{name}: {_line(model, one)}" for one in error.problems)) from error


def _line(model: type[Section], problem: Problem) -> str:
    where, field, owner = _locate(model, problem.place)
    if problem.kind == UNKNOWN:
        return f"{where}: unknown key; {_suggestion(str(problem.place[-1]), owner)}"
    if problem.kind == TOO_SHORT:
        return f"{where}: must have at least one entry"
    if problem.kind == MISSING:
        return f"{where}: missing; it must be {allowed(field) if field else 'given'}"
    if problem.kind in _BRACKETS and field is not None and section_of(field) is not None:
        return f"{where}: {_BRACKETS[problem.kind].format(where=where)}"
    if field is None or section_of(field) is not None:
        return f"{where}: {problem.text[:1].lower()}{problem.text[1:]}".lstrip(": ")
    return f"{where} = {_shown(problem.value)}: must be {allowed(field)}"


def _locate(model: type[Section], place: Place) -> tuple[str, Key | None, type[Section]]:
    """The key as a person writes it, its field (None if it has none), and the table it is in."""
    where, owner = "", model
    field: Key | None = None
    inside: type[Section] | None = model
    for step in place:
        if isinstance(step, int):
            where += f"[{step + 1}]"
            continue
        if inside is None:
            break
        owner = inside
        field = owner.keys.get(step)
        where += ("." if where else "") + step
        inside = section_of(field) if field is not None else None
    return where, field, owner


def _suggestion(key: str, owner: type[Section]) -> str:
    import difflib  # only for mistakes

    known = list(owner.keys)
    near = difflib.get_close_matches(key, known, n=1, cutoff=_LIKENESS)
    return f"did you mean {near[0]}?" if near else "known keys: " + ", ".join(known)


def _shown(value: Any) -> str:
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST_VALUE_SHOWN else text[:LONGEST_VALUE_SHOWN] + "…"
