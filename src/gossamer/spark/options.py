"""The options of the format `gossamer`: a table of names, and how each is read.

Spark hands over texts under names without case. An unknown name, or a value that means nothing, is
a ValueError that says what there is.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

_TRUE: Final = {"true": True, "1": True, "false": False, "0": False}
_SIZE = re.compile(r"(?P<number>\d{1,18})(?P<unit>[kmgt]?)b?", re.ASCII)
_SHIFTS: Final = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_ENDPOINT = re.compile(r"(?P<host>\[[0-9a-fA-F:]+\]|[^:\s\[\]]+)(?::(?P<port>\d{1,5}))?")


def read(given: Mapping[str, str], readers: Mapping[str, Callable[[str], Any]]) -> dict[str, Any]:
    """What the options say, by the names as the table of readers has them."""
    spelt = {name.lower(): name for name in readers}
    found: dict[str, Any] = {}
    for key, text in given.items():
        name = spelt.get(key.lower())
        if name is None:
            raise ValueError(f"unknown option {key!r}; there are {', '.join(readers)}")
        try:
            found[name] = readers[name](text)
        except ValueError as problem:
            raise ValueError(f"option {name}: {problem}") from None
    return found


def flag(text: str) -> bool:
    if text.lower() not in _TRUE:
        raise ValueError(f"{text!r} is neither true nor false")
    return _TRUE[text.lower()]


def count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise ValueError(f"{text!r} is not a whole number over 0")
    return int(text)


def size(text: str) -> int:
    """Bytes, with Spark's letters for more of them: 64m are 64 MiB."""
    found = _SIZE.fullmatch(text.lower())
    if found is None or int(found["number"]) == 0:
        raise ValueError(f"{text!r} is not a number of bytes over 0, such as 67108864 or 64m")
    return int(found["number"]) << _SHIFTS[found["unit"]]


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


def check_given(options: Mapping[str, Any], name: str, example: str) -> None:
    if not options.get(name):
        raise ValueError(f"option {name} is missing, as in .option({name!r}, {example!r})")
