"""The options of `gossamer serve`, and a short way to them.

typer brings pydantic, and both would stay in the broker's memory for as long as it runs: nine
megabytes to read a few words. So a command line that says `serve` and plain options is read here.
All others (help, `--port=1883`, whatever is wrong) are typer's, and mean the same there.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

LARGEST_PORT: Final = 65535


class ServeOptions(NamedTuple):
    config: Path | None = None
    port: int | None = None
    host: str | None = None
    data: Path | None = None
    memory: bool = False
    sync: str | None = None
    with_parent: bool = False


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) > LARGEST_PORT:
        raise ValueError("not a port")
    return int(text)


# By spelling: its name, and how its value is read.
_WITH_VALUE: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "--config": ("config", Path),
    "-c": ("config", Path),
    "--port": ("port", _port),
    "-p": ("port", _port),
    "--host": ("host", str),
    "--data": ("data", Path),
    "--sync": ("sync", str),
}
_FLAGS: Final = {"--memory": "memory", "--with-parent": "with_parent"}


def plain_options(arguments: Sequence[str]) -> ServeOptions | None:
    """None for a command line that is another command's, or has something that is not plain."""
    if not arguments or arguments[0] != "serve":
        return None
    found: dict[str, Any] = {}
    words = iter(arguments[1:])
    for word in words:
        if word in _FLAGS:
            found[_FLAGS[word]] = True
            continue
        name, read = _WITH_VALUE.get(word, ("", str))
        value = next(words, "")
        if not name or not value or value.startswith("-"):
            return None
        try:
            found[name] = read(value)
        except ValueError:
            return None
    return ServeOptions(**found)
