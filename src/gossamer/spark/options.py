"""The options of the format `gossamer`: a table of names, and how each is read.

Spark hands over texts under names without case. An unknown name, or a value that means nothing, is
a ValueError that says what there is.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

T = TypeVar("T")

_TRUE: Final = {"true": True, "1": True, "false": False, "0": False}
_ENDPOINT = re.compile(r"(?P<host>\[[0-9a-fA-F:]+\]|[^:\s\[\]]+)(?::(?P<port>\d{1,5}))?")


def known(options: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """By the names as they are written in the table."""
    spelt = {name.lower(): name for name in names}
    found: dict[str, str] = {}
    for key, value in options.items():
        if key.lower() not in spelt:
            raise ValueError(f"unknown option {key!r}; there are {', '.join(names)}")
        found[spelt[key.lower()]] = value
    return found


def read(options: dict[str, str], name: str, reader: Callable[[str], T], default: T) -> T:
    if name not in options:
        return default
    try:
        return reader(options[name])
    except ValueError as problem:
        raise ValueError(f"option {name}: {problem}") from None


def flag(text: str) -> bool:
    if text.lower() not in _TRUE:
        raise ValueError(f"{text!r} is neither true nor false")
    return _TRUE[text.lower()]


def count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise ValueError(f"{text!r} is not a whole number over 0")
    return int(text)


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number of seconds") from None
    if not 0.0 <= value < float("inf"):
        raise ValueError(f"{text!r} is not a number of seconds")
    return value


def names(text: str) -> list[str]:
    """Between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def one_of(*choices: str) -> Callable[[str], str]:
    def choose(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(f"{text!r} is none of {', '.join(choices)}")
        return text.lower()

    return choose


def endpoint(text: str, default_port: int) -> tuple[str, int]:
    """`host`, `host:port` or `[v6]:port`."""
    found = _ENDPOINT.fullmatch(text)
    port = int(found["port"] or default_port) if found is not None else 0
    if found is None or not 0 < port < 65_536:
        raise ValueError(f"{text!r} is not host:port")
    return found["host"].strip("[]"), port


def needed(options: dict[str, Any], name: str, example: str) -> str:
    if not options.get(name):
        raise ValueError(f"option {name} is missing, as in .option({name!r}, {example!r})")
    return str(options[name])
