"""What crosses a link to say what is wanted: today a filter, later perhaps a filter and more.

An interest on the wire is a kind, a length and a body, so that kinds can be added: a filter with
a condition, with a region, or with the part of an aggregate that can be computed on the way.
"""

from typing import Final

from gossamer.topics.names import TopicError, check_filter
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

FILTER: Final = 0
# As deep as a filter may be on any broker of the mesh; a client's own limit was checked before.
_MOST_LEVELS: Final = 65_535


def encode_interests(filters: list[str]) -> bytes:
    parts: list[bytes] = []
    for filter in filters:
        body = filter.encode()
        parts.append(bytes((FILTER, len(body) >> 8, len(body) & 0xFF)))
        parts.append(body)
    return b"".join(parts)


def decode_interests(data: bytes, position: int) -> list[str]:
    """The filters; whatever is wrong with them is the neighbour's error."""
    filters: list[str] = []
    end = len(data)
    while position < end:
        if position + 3 > end or data[position] != FILTER:
            raise _malformed("an interest of an unknown kind")
        start = position + 3
        position = start + (data[position + 1] << 8 | data[position + 2])
        if position > end:
            raise _malformed("an interest that is cut off")
        try:
            filter = str(data[start:position], "utf-8")
            check_filter(filter, _MOST_LEVELS)
        except (TopicError, UnicodeDecodeError) as error:
            raise _malformed(f"an interest in no filter: {error}") from None
        filters.append(filter)
    return filters


def _malformed(what: str) -> ProtocolError:
    return ProtocolError(reasons.MALFORMED_PACKET, f"a neighbour sent {what}")
