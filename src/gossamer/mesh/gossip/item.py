"""An item that is flooded, on the wire; whatever is wrong with one is the neighbour's error."""

from typing import Final

from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

# Larger than any item of ours; it bounds what a peer can make every broker hold and pass on.
MOST_BODY: Final = 1_048_576
MOST_NAME: Final = 64
_LIST_BYTES: Final = 60_000  # about the size of a part of a list
_LASTING: Final = 1
_HEAD: Final = 19  # flags, kind, life, counter and the length of the name

# What somebody has: (origin, kind) to (life, counter).
Listed = dict[tuple[str, int], tuple[int, int]]


class GossipItem:
    """What one broker said to all."""

    __slots__ = ("body", "counter", "is_lasting", "kind", "life", "origin")

    def __init__(
        self, origin: str, life: int, counter: int, kind: int, is_lasting: bool, body: bytes
    ) -> None:
        self.origin = origin
        self.life = life
        self.counter = counter
        self.kind = kind
        self.is_lasting = is_lasting
        self.body = body


def is_later(item: GossipItem, other: GossipItem) -> bool:
    return (item.life, item.counter) > (other.life, other.counter)


def is_name(name: str) -> bool:
    """Whether a broker may have that name."""
    return 0 < len(name) <= MOST_NAME and not any(letter in name for letter in "/+#")


def encode_item(item: GossipItem) -> bytes:
    return _head(item, _LASTING if item.is_lasting else 0) + item.body


def decode_item(data: bytes, position: int) -> GossipItem:
    flags, kind, life, counter, origin, position = _read_head(data, position)
    if len(data) - position > MOST_BODY:
        raise _malformed("a gossip entry that is too long")
    if flags > _LASTING:
        raise _malformed("a gossip entry with unknown flags")
    return GossipItem(origin, life, counter, kind, flags == _LASTING, data[position:])


def encode_list(items: list[GossipItem]) -> list[bytes]:
    """What somebody has, in parts of a bearable size; the first byte of the last one is 1."""
    parts: list[bytes] = []
    part: list[bytes] = []
    size = 0
    for item in items:
        if size >= _LIST_BYTES:
            parts.append(b"\0" + b"".join(part))
            part = []
            size = 0
        head = _head(item, 0)
        part.append(head)
        size += len(head)
    parts.append(b"\1" + b"".join(part))
    return parts


def decode_list(data: bytes) -> tuple[Listed, bool]:
    """What is in the part, behind the byte of its kind, and whether it is the last."""
    if len(data) < 2 or data[1] > 1:
        raise _malformed("a malformed list")
    listed: Listed = {}
    position = 2
    while position < len(data):
        _, kind, life, counter, origin, position = _read_head(data, position)
        listed[(origin, kind)] = (life, counter)
    return listed, data[1] == 1


def _head(item: GossipItem, flags: int) -> bytes:
    name = item.origin.encode()
    return (
        bytes((flags, item.kind))
        + item.life.to_bytes(10, "big")
        + item.counter.to_bytes(6, "big")
        + bytes((len(name),))
        + name
    )


def _read_head(data: bytes, position: int) -> tuple[int, int, int, int, str, int]:
    name_at = position + _HEAD
    if name_at > len(data):
        raise _malformed("a truncated gossip entry")
    after = name_at + data[name_at - 1]
    try:
        origin = str(data[name_at:after], "utf-8")
    except UnicodeDecodeError:
        origin = ""
    if after > len(data) or not is_name(origin):
        raise _malformed("a gossip entry without an origin")
    life = int.from_bytes(data[position + 2 : position + 12], "big")
    counter = int.from_bytes(data[position + 12 : position + 18], "big")
    return data[position], data[position + 1], life, counter, origin, after


def _malformed(what: str) -> ProtocolError:
    return ProtocolError(reasons.MALFORMED_PACKET, f"a neighbour sent {what}")
