"""Retained messages that one of two neighbours lacks, found by comparing digests."""

from typing import Final

from gossamer.broker.retained import DIGESTS, Retained
from gossamer.broker.stamps import Stamp, stamp_of, with_stamp
from gossamer.mesh.control import RETAINED, control_packet
from gossamer.session.message import Message
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

_DIGEST_BYTES: Final = 8


def digests_packet(retained: Retained) -> bytes:
    """Everything we have, in two kilobytes."""
    body = b"".join(digest.to_bytes(_DIGEST_BYTES, "big") for digest in retained.digests)
    return control_packet(RETAINED, body)


def missing_there(retained: Retained, theirs: bytes) -> list[Message]:
    """Ours in every part where the neighbour's digest is another; stamps sort out the rest."""
    if len(theirs) != DIGESTS * _DIGEST_BYTES:
        raise ProtocolError(reasons.MALFORMED_PACKET, "a neighbour sent digests of a wrong size")
    parts: list[int] = []
    for part in range(DIGESTS):
        start = part * _DIGEST_BYTES
        digest = int.from_bytes(theirs[start : start + _DIGEST_BYTES], "big")
        if digest != retained.digests[part]:
            parts.append(part)
    return [_replayed(message) for message in retained.stamped_in(parts)]


def _replayed(message: Message) -> Message:
    stamp = stamp_of(message)
    assert stamp is not None
    return with_stamp(message, Stamp(stamp.micros, stamp.origin, True))
