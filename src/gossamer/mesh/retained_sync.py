"""Retained messages that one of two neighbours lacks, found by comparing digests.

What brokers keep for each other is compared together with what clients retain: on a link both are
retained messages.
"""

from typing import Final

from gossamer.broker.core import Core
from gossamer.broker.retained import DIGESTS
from gossamer.broker.retained_stamps import Stamp, stamp_of, with_stamp
from gossamer.mesh.control_messages import RETAINED, control_packet
from gossamer.mesh.link import Link
from gossamer.session.message import Message
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

_DIGEST_BYTES: Final = 8


def digests_packet(core: Core) -> bytes:
    """Everything we have, in two kilobytes."""
    body = b"".join([_digest(core, part).to_bytes(_DIGEST_BYTES, "big") for part in range(DIGESTS)])
    return control_packet(RETAINED, body)


def check_digests(theirs: bytes) -> None:
    if len(theirs) != DIGESTS * _DIGEST_BYTES:
        raise ProtocolError(reasons.MALFORMED_PACKET, "a neighbour sent digests of a wrong size")


def missing_there(core: Core, theirs: bytes) -> list[Message]:
    """Ours in every part where the neighbour's digest is another; stamps sort out the rest."""
    parts: list[int] = []
    for part in range(DIGESTS):
        start = part * _DIGEST_BYTES
        digest = int.from_bytes(theirs[start : start + _DIGEST_BYTES], "big")
        if digest != _digest(core, part):
            parts.append(part)
    found = core.retained.stamped_in(parts) + core.shared.stamped_in(parts)
    return [_replayed(message) for message in found]


def tell_retained(core: Core, link: Link, now: float) -> None:
    """What the neighbour lacks by the digests that it sent last, once."""
    if link.digests:
        missing = missing_there(core, link.digests)
        link.digests = b""
        link.session.enqueue_retained(missing, link.receiver, now)


def _digest(core: Core, part: int) -> int:
    return core.retained.digests[part] ^ core.shared.digests[part]


def _replayed(message: Message) -> Message:
    stamp = stamp_of(message)
    assert stamp is not None
    return with_stamp(message, Stamp(stamp.micros, stamp.origin, True))
