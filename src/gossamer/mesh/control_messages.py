"""Control messages between neighbours: QoS 0 on one topic that is closed to clients.

The first byte says what it is. They follow each other on one connection, so order is certain and
nothing is lost but with the connection; when it stands again, both sides compare and mend.

An interest in them is a kind, a length and a body: a filter, or one with a condition behind it
(`broker/conditions.py`), for a neighbour that knows conditions.
"""

from typing import Final

from gossamer.broker.conditions import filter_of
from gossamer.broker.mesh_port import CONTROL_TOPIC
from gossamer.topics.names import TopicError, check_filter
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError
from gossamer.wire.frames import encode_varint

ADD: Final = 0x2B  # `+`: interests that are new
REMOVE: Final = 0x2D  # `-`: interests that are gone
HOLD: Final = 0x68  # `h`: a digest of the interests that I hold of yours
RESTART: Final = 0x62  # `b`: all my interests follow
COMPLETE: Final = 0x65  # `e`: those were all
SUMMARY: Final = 0x73  # `s`: a summary, whole or as a change
ALL: Final = 0x61  # `a`: everything is wanted, or may be
EPOCH: Final = 0x6E  # `n`: the life that my packet identifiers belong to
RETAINED: Final = 0x72  # `r`: digests of the retained messages I have
LEAVE: Final = 0x6F  # `o`: I hold nothing of yours any more
PING: Final = 0x70  # `p`: the time here
PONG: Final = 0x71  # `q`: the time there, given back
MEASURES: Final = 0x6D  # `m`: sums of what was measured here and behind my other links
FLOOD: Final = 0x66  # `f`: a gossip item, for everybody
FLOOD_DIGEST: Final = 0x64  # `d`: a digest of the lasting gossip items I have
FLOOD_LIST: Final = 0x6C  # `l`: which ones those are
COMPRESSED: Final = 0x7A  # `z`: what follows on this connection is compressed
# 0x77 (`w`) is taken: in 0.1.0 it said who was reached, in a mesh with topology = "tree".
# What changes the interests that are held of a neighbour.
INTERESTS: Final = (ADD, REMOVE, RESTART, COMPLETE, SUMMARY, ALL)
_TOPIC: Final = len(CONTROL_TOPIC).to_bytes(2, "big") + CONTROL_TOPIC.encode()
# Interests are told in messages of about this size, so that no packet is very large.
INTEREST_BYTES: Final = 60_000
# To read a condition takes as long as to read a plain filter of so many times its length, and more;
# a message with more of them than any broker sends is refused.
_CONDITION_WEIGHT: Final = 8
MOST_CONDITIONS: Final = 32_768  # characters
FILTER: Final = 0
# As deep as a filter may be on any broker of the mesh; a client's own limit was checked before.
_MOST_LEVELS: Final = 65_535


def control_packet(kind: int, body: bytes) -> bytes:
    """A whole PUBLISH packet."""
    size = len(_TOPIC) + 2 + len(body)
    return b"\x30" + encode_varint(size) + _TOPIC + b"\x00" + bytes((kind,)) + body


def control_size(payload: bytes) -> int:
    """The bytes of the whole packet in which this payload came."""
    size = len(_TOPIC) + 1 + len(payload)
    return 1 + len(encode_varint(size)) + size


def batches(filters: list[str]) -> list[list[str]]:
    """Filters in portions of a bearable size."""
    portions: list[list[str]] = []
    portion: list[str] = []
    size = 0
    for filter in filters:
        portion.append(filter)
        size += len(filter) + 3 + _CONDITION_WEIGHT * _condition_size(filter)
        if size >= INTEREST_BYTES:
            portions.append(portion)
            portion = []
            size = 0
    if portion:
        portions.append(portion)
    return portions


def encode_interests(filters: list[str]) -> bytes:
    parts: list[bytes] = []
    for filter in filters:
        body = filter.encode()
        parts.append(bytes((FILTER, len(body) >> 8, len(body) & 0xFF)))
        parts.append(body)
    return b"".join(parts)


def decode_interests(data: bytes, position: int, has_conditions: bool = False) -> list[str]:
    """Filters, and interests whose conditions are still to be read if the neighbour may tell any;
    whatever is wrong with them is its error."""
    filters: list[str] = []
    conditions = 0
    end = len(data)
    while position < end:
        if position + 3 > end or data[position] != FILTER:
            raise _malformed("an interest of an unknown kind")
        start = position + 3
        position = start + (data[position + 1] << 8 | data[position + 2])
        if position > end:
            raise _malformed("a truncated interest")
        try:
            filter = str(data[start:position], "utf-8")
            check_filter(filter_of(filter) if has_conditions else filter, _MOST_LEVELS)
        except (TopicError, UnicodeDecodeError) as error:
            raise _malformed(f"an interest with an invalid filter: {error}") from None
        filters.append(filter)
        conditions += _condition_size(filter)
        if conditions > MOST_CONDITIONS:
            raise _malformed("more conditions in a message than any broker tells")
    return filters


def _condition_size(interest: str) -> int:
    return len(interest) - len(filter_of(interest))


def _malformed(what: str) -> ProtocolError:
    return ProtocolError(reasons.MALFORMED_PACKET, f"a neighbour sent {what}")
