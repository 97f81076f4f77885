"""Last values of topics on their way to a broker that wants them, in one directed message.

Without values it says that its broker has begun to tell them. Nothing is taken from one before all
of it was checked.
"""

from __future__ import annotations

import struct
from typing import Final

from gossamer.mesh.directed.message import DirectedMessage
from gossamer.mesh.gossip.item import is_name
from gossamer.mesh.json_fields import malformed
from gossamer.session.message import Message

# The kind of directed message.
KIND: Final = "values"
# A piece is about half of it at most.
MOST_DATA: Final = 131_072
# The form, the name of what is wanted, publications and their bytes, and the broker's name.
_HEAD: Final = struct.Struct(">B16sIIB")
_FORM: Final = 1
_MOST: Final = (1 << 32) - 1


class ToldValues:
    """`wanted` is the name of an aggregate; `publications` entered since the broker told it last,
    of so many bytes (`size`); `data` is as `plus/value_codec.py` packs values."""

    __slots__ = ("broker", "data", "publications", "size", "wanted")

    def __init__(self, wanted: str, broker: str, publications: int, size: int, data: bytes) -> None:
        self.wanted = wanted
        self.broker = broker
        self.publications = min(publications, _MOST)
        self.size = min(size, _MOST)
        self.data = data

    def directed(self, to: str) -> DirectedMessage:
        message = Message("", self.packed(), 1, False, None, 0.0, "", "")
        return DirectedMessage(KIND, to, {}, message)

    def packed(self) -> bytes:
        name = self.broker.encode()
        wanted = bytes.fromhex(self.wanted)
        head = _HEAD.pack(_FORM, wanted, self.publications, self.size, len(name))
        return b"".join((head, name, self.data))


def read_told(packed: bytes) -> ToldValues:
    """ProtocolError if it is malformed."""
    if len(packed) < _HEAD.size:
        raise malformed("values that are cut off")
    form, wanted, publications, size, length = _HEAD.unpack_from(packed)
    end = _HEAD.size + length
    try:
        broker = packed[_HEAD.size : end].decode()
    except UnicodeDecodeError:
        broker = ""
    if form != _FORM:
        raise malformed("values in an unknown form")
    if not is_name(broker) or end > len(packed):
        raise malformed("values of nobody")
    if len(packed) - end > MOST_DATA:
        raise malformed("values that are too many")
    return ToldValues(wanted.hex(), broker, publications, size, packed[end:])
