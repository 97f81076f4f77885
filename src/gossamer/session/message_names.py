"""Names of messages between brokers: who let it in, and the how-manyeth it was there.

A name is 16 bytes: 8 that chance gave its broker at this start, and a counter. A message that is
sent round to everybody once more (a wave) has two: that of the wave, then its own. Names travel as
a property that MQTT does not have, first in its list, on links between brokers only; no client
ever sees one.
"""

from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.wire.frames import encode_varint

NAME_BYTES: Final = 16
WAVE_BYTES: Final = 2 * NAME_BYTES
# Identifiers that MQTT 5.0 leaves free, one byte long.
_NAMED: Final = 0x7E
_WAVE: Final = 0x7F
NAMED_BLOCK: Final = 1 + NAME_BYTES  # bytes of a list of properties with a name and nothing else


@mypyc_attr(allow_interpreted_subclasses=True)
class MessageNamer:
    """Gives names. This one belongs to a broker whose messages need none."""

    def name(self, qos: int) -> bytes:
        """A new one for a message that is let in here."""
        return b""


def with_name(block: bytes, name: bytes) -> bytes:
    """A list of properties, behind its length, with the name put first."""
    start = 1
    while block[start - 1] >= 128:
        start += 1
    size = 1 + len(name) + len(block) - start
    kind = _NAMED if len(name) == NAME_BYTES else _WAVE
    return encode_varint(size) + bytes((kind,)) + name + block[start:]


def named_at(data: bytes, position: int) -> bool:
    """Whether a name and nothing else is in the list of properties that starts there."""
    return data[position] == NAMED_BLOCK and data[position + 1] == _NAMED


def without_name(body: bytes, position: int) -> tuple[bytes, bytes]:
    """The name in the list of properties that starts at `position`, and the body without it."""
    start = position
    size = 0
    shift = 0
    end = len(body)
    while start < end and shift <= 21:
        size |= (body[start] & 0x7F) << shift
        shift += 7
        start += 1
        if body[start - 1] < 128:
            break
    if size == 0 or start >= end:
        return b"", body
    length = NAME_BYTES if body[start] == _NAMED else WAVE_BYTES if body[start] == _WAVE else 0
    if length == 0 or size < 1 + length or start + 1 + length > end:
        return b"", body
    after = start + 1 + length
    rest = encode_varint(size - 1 - length)
    return body[start + 1 : after], body[:position] + rest + body[after:]
