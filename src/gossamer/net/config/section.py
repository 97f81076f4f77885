"""Tables of the configuration as frozen objects, and how plain values become one of them.

Written by hand and not pydantic's, whose code and the schemas that it makes of our tables take ten
megabytes, a fifth of an empty broker. Values are taken as pydantic takes them, `port = "1883"`
too, since files in use may say so (`tests/net/test_config_sections.py` compares the two).
"""

import re
import types
from collections.abc import Callable
from pathlib import Path
from typing import (
    Any,
    ClassVar,
    Final,
    Literal,
    NamedTuple,
    Self,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
)

# The kinds of problems that are told in words of their own; all others are a wrong value.
MISSING: Final = "missing"
NOT_A_LIST: Final = "not a list"
NOT_A_TABLE: Final = "not a table"
REFUSED: Final = "refused"  # the text says why
TOO_SHORT: Final = "too short"
UNKNOWN: Final = "unknown"
WRONG: Final = "wrong"


# Keys, and positions in lists.
Place = tuple[str | int, ...]


class Problem(NamedTuple):
    place: Place
    kind: str
    text: str
    value: Any


class SectionError(ValueError):
    """All that is wrong with a table."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(f"{one.place}: {one.text}" for one in problems))
        self.problems = problems


class Before:
    """Metadata on a type: what is done to a value before it is taken; ValueError refuses it."""

    __slots__ = ("convert",)

    def __init__(self, convert: Callable[[Any], Any]) -> None:
        self.convert = convert


class After:
    """Metadata on a type: what is made of a value of it; ValueError refuses it."""

    __slots__ = ("convert",)

    def __init__(self, convert: Callable[[Any], Any]) -> None:
        self.convert = convert


class Bounds:
    """Metadata on a type: what a value of it must keep."""

    __slots__ = ("above", "least", "longest", "most", "pattern", "shortest")

    def __init__(
        self,
        least: float | None = None,
        above: float | None = None,
        most: float | None = None,
        shortest: int = 0,
        longest: int | None = None,
        pattern: str = "",
    ) -> None:
        self.least = least
        self.above = above
        self.most = most
        self.shortest = shortest
        self.longest = longest
        self.pattern = pattern  # of all of it

    def holds(self, value: Any) -> bool:
        """But for `shortest`, which is told in other words of a list."""
        return (
            (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
            and (self.longest is None or len(value) <= self.longest)
            and (not self.pattern or re.fullmatch(self.pattern, value) is not None)
        )


REQUIRED: Final = object()


class Key:
    """One key of a table: its type, what else it must keep, and its default."""

    __slots__ = ("annotation", "bounds", "default")

    def __init__(self, annotation: Any, default: Any, bounds: Bounds | None = None) -> None:
        self.annotation = annotation
        self.default = default
        self.bounds = bounds

    @property
    def is_required(self) -> bool:
        return self.default is REQUIRED


def setting(
    *,
    default: Any = REQUIRED,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    min_length: int = 0,
) -> Any:
    """A key with bounds, where the table is defined."""
    return Key(None, default, Bounds(ge, gt, le, min_length))


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(setting,))
class Section:
    """One table of the configuration file; the text below each key says what it means.

    An object holds what was stated; a default is the class's.
    """

    keys: ClassVar[dict[str, Key]] = {}

    def __init_subclass__(cls) -> None:
        cls.keys = dict(cls.keys)
        for name, annotation in cls.__annotations__.items():
            given = cls.__dict__.get(name, REQUIRED)
            key = given if isinstance(given, Key) else Key(None, given)
            key.annotation = annotation
            cls.keys[name] = key
            if key.is_required:
                if name in cls.__dict__:
                    delattr(cls, name)
            else:
                setattr(cls, name, key.default)

    def __init__(self, **values: Any) -> None:
        """SectionError if something is wrong."""
        self._begin(values)

    def _begin(self, values: dict[str, Any]) -> None:
        problems: list[Problem] = []
        self._take(values, (), problems)
        if problems:
            raise SectionError(problems)

    @classmethod
    def validated(cls, values: dict[str, Any]) -> Self:
        made = object.__new__(cls)
        made._begin(values)
        return made

    def check(self) -> None:
        """What its keys must be to each other; ValueError if they are not."""

    @property
    def stated(self) -> frozenset[str]:
        """The keys that have been given, be it what they would have been anyway."""
        return frozenset(self.__dict__)

    def changed(self, **values: Any) -> Self:
        """With these instead, which are taken as they are."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.__dict__.update(values)
        return made

    def at(self, folder: Path) -> Self:
        """With every path in it, and in the tables below it, taken relative to `folder`."""
        # Only what changes is stated: what a table states itself wins over what it inherits.
        moved = {}
        for key in self.keys:
            old = getattr(self, key)
            new = _at(old, folder)
            if new is not old:
                moved[key] = new
        return self.changed(**moved) if moved else self

    def _take(self, values: dict[str, Any], place: Place, problems: list[Problem]) -> None:
        before = len(problems)
        for name, key in self.keys.items():
            if name in values:
                self.__dict__[name] = _of_key(key, values[name], (*place, name), problems)
            elif key.is_required:
                problems.append(Problem((*place, name), MISSING, "missing", values))
        for name in values:
            if name not in self.keys:
                problems.append(Problem((*place, name), UNKNOWN, "unknown", values[name]))
        if len(problems) == before:
            try:
                self.check()
            except ValueError as error:
                problems.append(Problem(place, REFUSED, str(error), values))

    def _all(self) -> tuple[Any, ...]:
        return tuple(getattr(self, key) for key in self.keys)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Section):
            return NotImplemented
        return type(self) is type(other) and self._all() == other._all()

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        stated = ", ".join(f"{key}={value!r}" for key, value in self.__dict__.items())
        return f"{type(self).__name__}({stated})"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is not changed; `changed` makes another")


def _at(value: Any, folder: Path) -> Any:
    if isinstance(value, Path):
        return folder / value
    if isinstance(value, Section):
        return value.at(folder)
    if isinstance(value, tuple) and any(isinstance(one, Section) for one in value):
        return tuple(one.at(folder) for one in value)
    return value


# From plain values -------------------------------------------------------------------------------


def _of_key(key: Key, value: Any, place: Place, problems: list[Problem]) -> Any:
    metadata = () if key.bounds is None else (key.bounds,)
    return _annotated(key.annotation, metadata, value, place, problems)


def _annotated(
    kind: Any,
    metadata: tuple[Any, ...],
    value: Any,
    place: Place,
    problems: list[Problem],
) -> Any:
    """The value as this kind, with all that metadata says; what is wrong is added to problems."""
    before = len(problems)
    made = value
    try:
        for one in metadata:
            if isinstance(one, Before):
                made = one.convert(made)
        made = _of_kind(kind, made, place, problems)
        if len(problems) > before or made is None:
            return made
        for one in metadata:
            if isinstance(one, After):
                made = one.convert(made)
            elif isinstance(one, Bounds):
                if one.shortest and len(made) < one.shortest:
                    problems.append(Problem(place, TOO_SHORT, "too short", value))
                elif not one.holds(made):
                    raise ValueError("out of bounds")
    except (ValueError, OverflowError) as error:  # of a size with hundreds of digits
        problems.append(Problem(place, WRONG, str(error), value))
    return made


def _of_kind(kind: Any, value: Any, place: Place, problems: list[Problem]) -> Any:
    """ValueError if it is not one; what is wrong inside of it is added to problems."""
    if hasattr(kind, "__metadata__"):
        return _annotated(kind.__origin__, kind.__metadata__, value, place, problems)
    if kind in _PLAIN:
        return _PLAIN[kind](value)
    if kind is Any:
        return value
    if isinstance(kind, type) and issubclass(kind, Section):
        return _of_section(kind, value, place, problems)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        (wanted,) = (one for one in inner if one is not type(None))  # or none at all
        return None if value is None else _of_kind(wanted, value, place, problems)
    if origin is Literal:
        for one in inner:
            if type(one) is type(value) and one == value:
                return value
        raise ValueError("none of these")
    if origin is tuple:
        if not isinstance(value, list | tuple):
            problems.append(Problem(place, NOT_A_LIST, "not a list", value))
            return ()
        return tuple(
            _annotated(inner[0], (), one, (*place, at), problems) for at, one in enumerate(value)
        )
    assert origin is dict, kind
    if not isinstance(value, dict):
        raise ValueError("not a table")
    return {
        name: _annotated(inner[1], (), one, (*place, name), problems) for name, one in value.items()
    }


def _of_section(kind: type[Section], value: Any, place: Place, problems: list[Problem]) -> Any:
    if isinstance(value, kind):
        return value
    if not isinstance(value, dict):
        problems.append(Problem(place, NOT_A_TABLE, "not a table", value))
        return None
    made = object.__new__(kind)
    made._take(value, place, problems)
    return made


_TRUE: Final = ("1", "true", "t", "yes", "y", "on")
_FALSE: Final = ("0", "false", "f", "no", "n", "off")


def _boolean(value: Any) -> bool:
    if isinstance(value, bool | int | float) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.lower() in _TRUE + _FALSE:
        return value.lower() in _TRUE
    raise ValueError("neither true nor false")


# Of floats that stand for whole numbers; what is larger is a slip.
LARGEST_EXACT: Final = float(1 << 63)
_WHOLE: Final = re.compile(r"\s*([+-]?\d+(?:_\d+)*)(?:\.0*)?\s*", re.ASCII)


def _integer(value: Any) -> int:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_EXACT:
        return int(value)
    if isinstance(value, str) and (found := _WHOLE.fullmatch(value)) is not None:
        return int(found[1])
    raise ValueError("no whole number")


def _number(value: Any) -> float:
    if isinstance(value, int | float) or (isinstance(value, str) and value.isascii()):
        try:
            return float(value)
        except OverflowError:
            pass
    raise ValueError("no number")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("no text")


def _path(value: Any) -> Path:
    if isinstance(value, str | Path):
        return Path(value)
    raise ValueError("no path")


_PLAIN: Final[dict[Any, Callable[[Any], Any]]] = {
    bool: _boolean,
    int: _integer,
    float: _number,
    str: _text,
    Path: _path,
}
