"""Retained messages that one of two neighbours lacks, found by comparing digests.

What brokers keep for each other is compared together with what clients retain: on a link both are
retained messages.

The neighbour is owed what it may lack, as a client is owed the retained messages of a subscription:
a slice is looked up and sent when nothing else waits for it. Published meanwhile, a message goes
its usual way, and stamps and names tell which is the last and what came before. If the connection
ends first, the next one begins with another comparison.
"""

from typing import Final

from gossamer.broker.core import Core
from gossamer.broker.retained import DIGESTS
from gossamer.broker.retained_delivery import takes_more
from gossamer.broker.retained_stamps import Stamp, stamp_of, with_stamp
from gossamer.mesh.control_messages import RETAINED, control_packet
from gossamer.mesh.link import Link
from gossamer.session.message import Message
from gossamer.session.subscription import ANY, Owed, OwedMessages
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

_DIGEST_BYTES: Final = 8
# Messages that are sent in one turn: a millisecond or two.
_SLICE: Final = 100


def digests_packet(core: Core) -> bytes:
    """Everything we have, in two kilobytes."""
    body = b"".join([_digest(core, part).to_bytes(_DIGEST_BYTES, "big") for part in range(DIGESTS)])
    return control_packet(RETAINED, body)


def check_digests(theirs: bytes) -> None:
    if len(theirs) != DIGESTS * _DIGEST_BYTES:
        raise ProtocolError(reasons.MALFORMED_PACKET, "a neighbour sent digests of a wrong size")


def tell_retained(core: Core, link: Link) -> None:
    """The neighbour is owed ours in every part where its digest, of those that it sent last, is
    another; stamps sort out the rest. What it was owed by an earlier comparison and lacks still is
    in such a part, too."""
    theirs = link.digests
    if not theirs:
        return
    link.digests = b""
    parts: set[int] = set()
    for part in range(DIGESTS):
        start = part * _DIGEST_BYTES
        digest = int.from_bytes(theirs[start : start + _DIGEST_BYTES], "big")
        if digest != _digest(core, part):
            parts.add(part)
    session = link.session
    if not parts:
        session.owed = None
        return
    session.owed = Owed()
    session.owed.begin("", _BothTables(core, parts))
    if takes_more(session):
        core.hub.owing[session] = None


def serve(core: Core, link: Link, now: float) -> None:
    """Sends the next slice, if the neighbour takes it."""
    session = link.session
    owed = session.owed
    if owed is None or not takes_more(session):
        return
    messages = owed.messages
    if link.connection is None or messages is None:
        session.owed = None
        return
    found = [_replayed(message) for message in messages.next(now, _SLICE)]
    has_more = not messages.is_done()
    if not has_more:
        session.owed = None
    if found:
        session.enqueue_retained(found, link.receiver, now)
    if has_more and takes_more(session):
        core.hub.owing[session] = None


class _BothTables(OwedMessages):
    """Those of clients, and then what brokers keep for each other."""

    __slots__ = ("_retained", "_shared")

    def __init__(self, core: Core, parts: set[int]) -> None:
        self._retained = core.retained.begin_parts(parts)
        self._shared = core.shared.begin_parts(parts)

    def is_done(self) -> bool:
        return self._retained.is_done() and self._shared.is_done()

    def next(self, now: float, most: int, since: int = ANY) -> list[Message]:
        first = self._retained if not self._retained.is_done() else self._shared
        return first.next(now, most)


def _digest(core: Core, part: int) -> int:
    return core.retained.digests[part] ^ core.shared.digests[part]


def _replayed(message: Message) -> Message:
    stamp = stamp_of(message)
    assert stamp is not None
    return with_stamp(message, Stamp(stamp.micros, stamp.origin, True))
