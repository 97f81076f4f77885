"""Properties that MQTT does not have, for what neighbours tell each other with a message: its name
(`message_names.py`), who published it (`publisher.py`), and that it is a run at QoS 0 which came in
packets of MQTT 3.1.1 and most likely goes out in such again (`broker/publish_bursts.py`).

They are first in the list of properties, the name before the publisher. A client can neither send
nor see them.
"""

from __future__ import annotations

from typing import Final

from gossamer.session.message_names import NAME_BYTES, RUN_NAME_BYTES
from gossamer.wire.frames import encode_varint
from gossamer.wire.scalars import binary

# Identifiers that MQTT 5.0 leaves free, one byte long. Names are told apart by their lengths.
_NAMED: Final = 0x7E
_RUN: Final = 0x7C
_PUBLISHER: Final = 0x7D
_KINDS: Final = {
    NAME_BYTES: _NAMED,
    2 * NAME_BYTES: 0x7F,
    RUN_NAME_BYTES: _RUN,
    NAME_BYTES + RUN_NAME_BYTES: 0x7B,
}
_LENGTHS: Final = {kind: length for length, kind in _KINDS.items()}
_CARRIED: Final = 0x7A
# A list of properties with nothing but that: the payload is packets of 3.1.1 as they came.
CARRIED_BLOCK: Final = bytes((1, _CARRIED))
# A list of properties with one name and nothing else.
NAMED_BLOCK: Final = 1 + NAME_BYTES
_RUN_BLOCK: Final = 1 + RUN_NAME_BYTES


def with_name(block: bytes, name: bytes) -> bytes:
    """A list of properties, behind its length, with the name put first."""
    return _with_first(block, bytes((_KINDS[len(name)],)) + name)


def with_publisher(block: bytes, publisher: bytes) -> bytes:
    """A list of properties, behind its length, with the publisher put first."""
    return _with_first(block, bytes((_PUBLISHER,)) + binary(publisher))


def _with_first(block: bytes, first: bytes) -> bytes:
    start = 1
    while block[start - 1] >= 128:
        start += 1
    return encode_varint(len(first) + len(block) - start) + first + block[start:]


def named_at(data: bytes, position: int) -> int:
    """The length of the name of a message, or of a run, if that and nothing else is in the list of
    properties that starts there; else 0."""
    size = data[position]
    if size == NAMED_BLOCK and data[position + 1] == _NAMED:
        return NAME_BYTES
    if size == _RUN_BLOCK and data[position + 1] == _RUN:
        return RUN_NAME_BYTES
    return 0


def without_name(body: bytes, position: int) -> tuple[bytes, bytes]:
    """The name in the list of properties that starts at `position`, and the body without it."""
    size, start = _list_at(body, position)
    end = len(body)
    if size == 0 or start >= end:
        return b"", body
    length = _LENGTHS.get(body[start], 0)
    if length == 0 or size < 1 + length or start + 1 + length > end:
        return b"", body
    after = start + 1 + length
    rest = encode_varint(size - 1 - length)
    return body[start + 1 : after], body[:position] + rest + body[after:]


def without_publisher(body: bytes, position: int) -> tuple[bytes, bytes]:
    """The publisher in the list of properties that starts there, and the body without it."""
    size, start = _list_at(body, position)
    if size < 3 or start + 3 > len(body) or body[start] != _PUBLISHER:
        return b"", body
    length = body[start + 1] << 8 | body[start + 2]
    after = start + 3 + length
    if size < 3 + length or after > len(body):
        return b"", body
    rest = encode_varint(size - 3 - length)
    return body[start + 3 : after], body[:position] + rest + body[after:]


def carried_at(data: bytes, position: int) -> bool:
    """Whether the list of properties that starts there says that packets of 3.1.1 follow it."""
    return data[position] == 1 and data[position + 1] == _CARRIED


def _list_at(body: bytes, position: int) -> tuple[int, int]:
    """How long the list of properties is that starts at `position`, and where its first one is."""
    size = 0
    shift = 0
    end = len(body)
    while position < end and shift <= 21:
        size |= (body[position] & 0x7F) << shift
        shift += 7
        position += 1
        if body[position - 1] < 128:
            break
    return size, position
