"""Whether a standalone master is there: Spark says nothing for a minute, and then too much."""

import socket
from typing import Final

STANDALONE: Final = "spark://"
_CONNECT_SECONDS: Final = 5.0


class NoMaster(RuntimeError):
    """Nobody answers; the text says where and what to do."""


def reach(master: str) -> None:
    """Raises NoMaster. Of several masters one is enough; other kinds of cluster are Spark's."""
    if not master.startswith(STANDALONE):
        return
    problems = []
    for place in master.removeprefix(STANDALONE).split(","):
        host, _, port = place.rpartition(":")
        if not host or not port.isdecimal():
            problems.append(f"{place!r} is not HOST:PORT")
            continue
        try:
            socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
        except (OSError, OverflowError) as problem:
            problems.append(f"{place}: {problem}")
        else:
            return
    raise NoMaster(
        f"no Spark master at {master} ({'; '.join(problems)}); start it, or leave --master out to "
        "use the cores of this machine"
    )
