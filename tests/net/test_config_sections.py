"""Tables of the configuration take what pydantic would take of them, and nothing else.

pydantic is the referee: a table of every kind of value, and files that were written for it.
"""

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.net.config import Config
from gossamer.net.config.limits import Limits
from gossamer.net.config.section import After, Before, Bounds, Section, SectionError, setting


def _even(value: int) -> int:
    if value % 2:
        raise ValueError("odd")
    return value // 2


def _halves(value: Any) -> Any:
    return len(value) if isinstance(value, str) else value


class Inner(Section):
    size: Annotated[int, Before(_halves), Bounds(least=0)] = 3
    name: str

    def check(self) -> None:
        if self.name == "no":
            raise ValueError("not this one")


class Outer(Section):
    flag: bool = False
    count: int = setting(default=2, ge=1, le=9)
    share: float = setting(default=0.5, gt=0, le=1)
    free: float = 0.0
    text: str = ""
    file: Path | None = None
    one_of: Literal["a", "b", 1] = "a"
    even: Annotated[int, After(_even)] | None = None
    word: Annotated[str, Bounds(longest=3, pattern="[a-z]+")] = "ab"
    many: tuple[int, ...] = setting(default=(1,), min_length=1)
    lengths: dict[str, float] = setting(default={})
    loose: dict[str, dict[str, Any]] = setting(default={})
    inner: Inner | None = None
    inners: tuple[Inner, ...] = ()


class InnerReferee(pydantic.BaseModel, extra="forbid"):
    size: Annotated[int, pydantic.BeforeValidator(_halves), pydantic.Field(ge=0)] = 3
    name: str

    @pydantic.model_validator(mode="after")
    def _not_no(self) -> "InnerReferee":
        if self.name == "no":
            raise ValueError("not this one")
        return self


def _text_or_number(value: Any) -> Any:
    """Pydantic takes true and 1.0 for a literal 1; a table takes what is written like it."""
    if type(value) not in (str, int):
        raise ValueError("another type")
    return value


class OuterReferee(pydantic.BaseModel, extra="forbid"):
    flag: bool = False
    count: int = pydantic.Field(default=2, ge=1, le=9)
    share: float = pydantic.Field(default=0.5, gt=0, le=1)
    free: float = 0.0
    text: str = ""
    file: Path | None = None
    one_of: Annotated[Literal["a", "b", 1], pydantic.BeforeValidator(_text_or_number)] = "a"
    even: Annotated[int, pydantic.AfterValidator(_even)] | None = None
    word: Annotated[str, pydantic.Field(max_length=3, pattern="^[a-z]+$")] = "ab"
    many: tuple[int, ...] = pydantic.Field(default=(1,), min_length=1)
    lengths: dict[str, float] = {}
    loose: dict[str, dict[str, Any]] = {}
    inner: InnerReferee | None = None
    inners: tuple[InnerReferee, ...] = ()


numbers = st.integers(-3, 12) | st.floats() | st.sampled_from([0.0, 1.0, 2.5, 10**30, 10**400])
texts = st.sampled_from(
    [
        *("", "a", "b", "abcd", "ab\n", "AB", "no", "1", " 7 ", "+4", "1_0", "1.0", "1.5", "1e2"),
        *("true", "True", "OFF", "y", "nan", "-inf", "0x10", "٣", "/tmp/x", "1.", "_1", "1__0"),
    ]
)
plain = st.none() | st.booleans() | numbers | texts
inners = st.dictionaries(st.sampled_from(["size", "name", "more"]), plain, max_size=3)
tables = st.dictionaries(texts, plain | st.dictionaries(texts, plain, max_size=2), max_size=2)
values = plain | st.lists(plain | inners, max_size=3) | inners | tables
everything = st.dictionaries(st.sampled_from([*Outer.keys, "unknown"]), values, max_size=4)


def plainly(value: Any) -> Any:
    """Tables as dictionaries, and NaN as something that equals itself."""
    if isinstance(value, Section):
        return {key: plainly(getattr(value, key)) for key in value.keys}
    if isinstance(value, dict):
        return {key: plainly(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return tuple(plainly(one) for one in value)
    return "nan" if isinstance(value, float) and math.isnan(value) else (type(value), value)


@given(everything)
def test_a_table_takes_what_pydantic_takes(given: dict[str, Any]) -> None:
    try:
        wanted = OuterReferee.model_validate(given)
    except pydantic.ValidationError as error:
        # A list with wrong entries is also too short for pydantic, which says nothing new.
        found = {one["loc"] for one in error.errors()}
        within = {place[:-1] for place in found}
        found -= {
            one["loc"]
            for one in error.errors()
            if one["type"] == "too_short" and one["loc"] in within
        }
        with pytest.raises(SectionError) as refused:
            Outer.validated(given)
        assert {problem.place for problem in refused.value.problems} == found
    else:
        assert plainly(Outer.validated(given)) == plainly(wanted.model_dump())


def sections() -> list[type[Section]]:
    found: list[type[Section]] = []
    waiting: list[type[Section]] = [Section]
    while waiting:
        subclasses = waiting.pop().__subclasses__()
        found += subclasses
        waiting += subclasses
    return [one for one in found if one.__module__.startswith("gossamer.")]


@pytest.mark.parametrize("section", sections(), ids=lambda one: one.__name__)
def test_every_default_is_a_value_that_its_key_takes(section: type[Section]) -> None:
    for name, key in section.keys.items():
        if key.is_required:
            continue
        alone: type[Section] = type(
            "Alone", (Section,), {"__annotations__": {name: key.annotation}}
        )
        alone.keys[name].bounds = key.bounds
        taken = alone.validated({name: key.default})
        assert getattr(taken, name) == key.default


def test_a_table_is_a_value() -> None:
    limits = Limits(inflight=3)
    assert limits == Limits().changed(inflight=3) == Limits.validated({"inflight": 3})
    assert hash(limits) == hash(Limits(inflight=3))
    assert limits != Limits()
    assert Config() == Config()
    assert limits.stated == {"inflight"}
    assert Limits(inflight=1000).stated == {"inflight"}
    assert repr(limits) == "Limits(inflight=3)"


@pytest.mark.parametrize(
    ("section", "wrong"), [(Limits, {"inflight": 0}), (Limits, {"inflihgt": 1}), (Inner, {})]
)
def test_a_wrong_table_cannot_be_made(section: type[Section], wrong: dict[str, Any]) -> None:
    with pytest.raises(SectionError):
        section(**wrong)


def test_a_size_of_hundreds_of_digits_is_wrong() -> None:
    with pytest.raises(SectionError) as refused:
        Limits.validated({"packet_size": "9" * 400 + " GiB"})
    assert [problem.place for problem in refused.value.problems] == [("packet_size",)]


def test_a_table_does_not_change() -> None:
    limits = Limits()
    with pytest.raises(AttributeError, match="Limits is not changed"):
        limits.inflight = 3  # type: ignore[misc]
