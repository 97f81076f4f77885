"""What a client's session record notes of its moves, so that they outlive restarts.

    state : broker : when the session began : the last of the errands with which it went away

A session that moved away stays for a while, to pass on what still comes for it here.
"""

from typing import Final

HERE: Final = ""
SETTLING: Final = "settling"  # here, but that broker may still send messages after it
ARRIVING: Final = "arriving"  # its messages are on their way from that broker
MOVED: Final = "moved"  # to that broker, which has not said yet that it is there
TAKEN: Final = "taken"  # that broker has it


class Whereabouts:
    __slots__ = ("broker", "last", "since", "state")

    def __init__(self, note: str) -> None:
        parts = [*note.split(":"), "", "", "", ""]
        self.state = parts[0]
        self.broker = parts[1]
        self.since = int(parts[2]) if parts[2].isdecimal() else 0  # microseconds
        self.last = parts[3]

    def text(self) -> str:
        text = f"{self.state}:{self.broker}:{self.since}"
        return f"{text}:{self.last}" if self.last and self.is_away() else text

    def is_here(self) -> bool:
        return self.state in (HERE, SETTLING)

    def is_away(self) -> bool:
        return self.state in (MOVED, TAKEN)
