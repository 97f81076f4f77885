"""What one broker counted in one window, on its way to a broker that wants it, and in its store.

It is what a directed message carries; where there are many topics, several, its pieces. Nothing is
taken from one before all of it was checked.
"""

from __future__ import annotations

import struct
from typing import Final

from gossamer.mesh.directed.message import DirectedMessage
from gossamer.mesh.gossip.item import is_name
from gossamer.mesh.json_fields import malformed
from gossamer.session.message import Message
from gossamer.wire.properties import Properties

# The kind of directed message.
KIND: Final = "window"
# A piece is about half of it at most: a topic, and a sketch.
MOST_DATA: Final = 262_144
# The form, the window's name, its number, since when, piece, pieces, and the broker's name.
_HEAD: Final = struct.Struct(">B16sQdHHB")
_BY_TOPIC: Final = 1
MOST_PIECES: Final = 65_535
# Beyond any time of a wall clock, and so the number of any window of a second: the year 9999.
_MOST_TIME: Final = 253_402_300_800.0


class Partial:
    """`window` is the name of what is counted, `number` which of its windows; `since` is from when
    on the broker counts, by its wall clock; `data` is as `plus/partial_codec.py` packs it."""

    __slots__ = ("broker", "data", "number", "piece", "pieces", "since", "window")

    def __init__(
        self,
        window: str,
        number: int,
        broker: str,
        since: float,
        piece: int,
        pieces: int,
        data: bytes,
    ) -> None:
        self.window = window
        self.number = number
        self.broker = broker
        self.since = since
        self.piece = piece
        self.pieces = pieces
        self.data = data

    def directed(self, to: str, seconds: float, now: float) -> DirectedMessage:
        """For that broker; of no use to it after so many seconds."""
        properties = Properties()
        properties.message_expiry = max(1, int(seconds))
        message = Message("", self.packed(), 1, False, properties, now + seconds, "", "")
        return DirectedMessage(KIND, to, {}, message)

    def place(self) -> str:
        """Its key in the store."""
        return f"{self.window}/{self.number}/{self.broker}/{self.piece}"

    def packed(self) -> bytes:
        name = self.broker.encode()
        head = _HEAD.pack(
            _BY_TOPIC,
            bytes.fromhex(self.window),
            self.number,
            self.since,
            self.piece,
            self.pieces,
            len(name),
        )
        return b"".join((head, name, self.data))


def read_partial(packed: bytes) -> Partial:
    """ProtocolError if it is malformed."""
    if len(packed) < _HEAD.size:
        raise malformed("a window that is cut off")
    form, window, number, since, piece, pieces, length = _HEAD.unpack_from(packed)
    end = _HEAD.size + length
    try:
        broker = packed[_HEAD.size : end].decode()
    except UnicodeDecodeError:
        broker = ""
    if form != _BY_TOPIC:
        raise malformed("a window in an unknown form")
    if not (is_name(broker) and piece < pieces and end <= len(packed)):
        raise malformed("a window of nobody")
    if not (0.0 <= since < _MOST_TIME and number < _MOST_TIME):
        raise malformed("a window of no time")
    if len(packed) - end > MOST_DATA:
        raise malformed("a window that is too large")
    return Partial(window.hex(), number, broker, since, piece, pieces, packed[end:])
