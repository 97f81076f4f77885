"""What sections are made of: the value types with the words that explain them, and the error that a
wrong configuration raises.
"""

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Any, Final

from gossamer.net.config.section import After, Before, Bounds
from gossamer.plus.durations import read_duration


class ConfigError(Exception):
    """`problems` are lines for a person, each naming the key, the value and what is allowed."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


class Allowed:
    """Metadata on a type: what a value of it may be, in words."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


SIZE_UNITS: Final = {"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}
_QUANTITY: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def parse_size(value: Any) -> Any:
    """`"1 MiB"` is 1048576; anything that is not a text is left to the model."""
    if not isinstance(value, str):
        return value
    found = _QUANTITY.fullmatch(value)
    if found is None or found[2].upper() not in SIZE_UNITS:
        raise ValueError("not a size")
    return int(float(found[1]) * SIZE_UNITS[found[2].upper()])


def parse_duration(value: Any) -> Any:
    """`"5 min"` is 300.0; anything that is not a text is left to the model."""
    return read_duration(value) if isinstance(value, str) else value


def parse_network(value: str) -> str:
    """An address or network, in its canonical spelling."""
    return str(ipaddress.ip_network(value, strict=False))


Size = Annotated[int, Before(parse_size), Allowed('a number of bytes, or a text such as "256 KiB"')]
Duration = Annotated[
    float,
    Before(parse_duration),
    Bounds(least=0),
    Allowed('a number of seconds, or a text such as "30 s", "5 min", "2 h" or "1 d"'),
]
# Of a broker: it becomes part of topics, client ids and file names.
Name = Annotated[
    str,
    Bounds(longest=64, pattern=r"[A-Za-z0-9._-]+"),
    Allowed("1 to 64 letters, digits, dots, underscores and hyphens"),
]
Port = Annotated[int, Bounds(least=0, most=65535), Allowed("0 (any free port) to 65535")]
Network = Annotated[
    str, After(parse_network), Allowed('an address or network such as "10.0.0.0/8"')
]
Mode = Annotated[str, Bounds(pattern=r"[0-7]{3}"), Allowed('three octal digits such as "660"')]
UrlPath = Annotated[str, Bounds(pattern=r"/[!-~]*"), Allowed('a path such as "/mqtt"')]
FilePath = Annotated[Path, Allowed("a path, relative to the configuration file")]
