"""What a neighbour's session record notes beside the session itself, so that it outlives restarts.

    own epoch : the neighbour's epoch : the mode in which its interests were told : forwarding

`forwarding` is "f" while messages for all that is behind the neighbour are queued for it.

An epoch names a life of packet identifiers: a broker that lost its state begins another.
"""


class Note:
    """One record's note, read and written as text."""

    __slots__ = ("is_forwarding", "mode", "own", "theirs")

    def __init__(self, text: str) -> None:
        parts = [*text.split(":"), "", "", "", ""]
        self.own = parts[0]
        self.theirs = parts[1]
        self.mode = parts[2]
        self.is_forwarding = parts[3] == "f"

    def text(self) -> str:
        text = f"{self.own}:{self.theirs}:{self.mode}"
        return text + ":f" if self.is_forwarding else text
