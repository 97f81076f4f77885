"""Gossip: items that every broker of the mesh hears, passed on over every link, each handled once.

A *lasting* item stands until its broker says another of the same kind: whoever joins later is told
it too, when a link comes up. A *passing* item reaches those who are joined now. An item is known by
its origin, that broker's life and a counter, so it may come over many links and go round in
circles. Of two lasting items the one with the later life wins, then the one with the higher
counter; a life is the time of a start, and a broker that hears of a later one under its own name
goes beyond it.

Whoever says too much is damped: of lasting items the newest is taken a little later, passing items
are dropped.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from gossamer.mesh.control_messages import FLOOD, FLOOD_DIGEST, FLOOD_LIST, control_packet
from gossamer.mesh.gossip.item import (
    MOST_BODY,
    GossipItem,
    decode_item,
    decode_list,
    encode_item,
    encode_list,
    is_later,
)
from gossamer.mesh.link import LimitedLog
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

if TYPE_CHECKING:
    from gossamer.broker.core import Core
    from gossamer.mesh.link import Link

logger = logging.getLogger(__name__)

# Who heard it: the broker that said it, what it said, and the time.
Handler = Callable[[str, bytes, float], None]

# Brokers that one can have heard of; a peer that invents names cannot fill the memory.
MOST_ORIGINS: Final = 10_000
# How far ahead of this broker's clock a life may be. Clocks are wrong; not by this much.
_AHEAD_MICROS: Final = 30 * 86_400 * 1_000_000
_LIFE_SHIFT: Final = 16  # low bits that chance fills: two starts in one microsecond differ
LEAP_SECONDS: Final = 1.0
LASTING_A_SECOND: Final = 20.0  # that one broker may change, after a burst
LASTING_BURST: Final = 60.0
PASSING_A_SECOND: Final = 2_000.0
PASSING_BURST: Final = 10_000.0
# Passing items of one broker that may overtake each other; what is older has been heard.
_WINDOW: Final = 4_096


class Gossip:
    """One broker's part. Handlers are entered by kind before the first link stands."""

    def __init__(self, core: Core, name: str, links: dict[str, Link]) -> None:
        self.core = core
        self.name = name
        self.handlers: dict[int, Handler] = {}
        begun = int(core.common_time(core.started_at) * 1e6)
        self.life = (begun << _LIFE_SHIFT) | secrets.randbits(_LIFE_SHIFT)
        self.damped = 0  # items that came too fast
        self._links = links
        self._counter = 0
        self._own: dict[int, GossipItem] = {}
        self._origins: dict[str, GossipSource] = {}
        self._outgoing: list[tuple[bytes, str]] = []  # packets, and the link not to send them to
        self._digest = 0  # of all lasting items, in any order
        self._restless: dict[str, None] = {}  # origins with items that wait
        self._leap_beyond = 0  # a life under our name that is not ours, 0 for none
        self._leapt_at = 0.0
        self._complaints = LimitedLog(logger)

    # Saying ---------------------------------------------------------------------------------------

    def say(self, kind: int, body: bytes, now: float, lasting: bool = True) -> None:
        """To everybody, at the end of the turn; a lasting item replaces the last of its kind."""
        if len(body) > MOST_BODY:
            raise ValueError(
                f"a gossip entry of {len(body)} bytes is above the limit of {MOST_BODY}"
            )
        item = self._spoken(kind, body, lasting)
        if lasting:
            self._replace(self._own, item)
        self._outgoing.append((control_packet(FLOOD, encode_item(item)), ""))

    def last_item(self, origin: str, kind: int) -> bytes | None:
        """The lasting item of that kind that stands."""
        items = self._own if origin == self.name else self._lasting_of(origin)
        item = items.get(kind)
        return None if item is None else item.body

    # Hearing --------------------------------------------------------------------------------------

    def opened(self, link: Link) -> None:
        """A link stands: the two ends compare what they have, if there is anything."""
        link.listed = {}
        if self._digest:
            link.send([control_packet(FLOOD_DIGEST, self._digest.to_bytes(8, "big"))])

    def hear(self, link: Link, payload: bytes, now: float) -> None:
        """An item, from anybody, over this link."""
        item = decode_item(payload, 1)
        latest = int(max(now, now + self.core.wall_offset) * 1e6)
        if item.life >> _LIFE_SHIFT > latest + _AHEAD_MICROS:
            raise ProtocolError(
                reasons.PROTOCOL_ERROR,
                f"a gossip entry of {item.origin!r} from too far in the future",
            )
        if item.origin == self.name:
            self._hear_own(link, item, now)
            return
        known = self._origins.get(item.origin)
        if known is None:
            if len(self._origins) >= MOST_ORIGINS:
                self._complain(link, "names more brokers than a mesh may have", now)
                return
            known = GossipSource(now)
            self._origins[item.origin] = known
        if item.is_lasting:
            self._hear_lasting(link, known, item, now)
        else:
            self._hear_passing(link, known, item, now)

    def hear_digest(self, link: Link, payload: bytes) -> None:
        if len(payload) != 9:
            raise ProtocolError(reasons.MALFORMED_PACKET, "a digest of a wrong size")
        if int.from_bytes(payload[1:], "big") != self._digest:
            for part in encode_list(self._all()):
                link.send([control_packet(FLOOD_LIST, part)])

    def hear_list(self, link: Link, payload: bytes) -> None:
        """What the neighbour has, a part of it: it is told what is newer here. What it did not
        name at all it gets when its list is complete."""
        theirs, is_complete = decode_list(payload)
        link.listed.update(theirs)
        if not is_complete:
            return
        listed = link.listed
        link.listed = {}
        for item in self._all():
            held = listed.get((item.origin, item.kind))
            if held is None or (item.life, item.counter) > held:
                link.send([control_packet(FLOOD, encode_item(item))])

    def begin_end(self, now: float) -> None:
        """The turn ends: takes what had to wait."""
        if self._leap_beyond:
            self._leap(now)
        if self._restless:
            self._take_waiting(now)

    def end_turn(self) -> None:
        """Passes on what the turn brought."""
        if not self._outgoing:
            return
        outgoing = self._outgoing
        self._outgoing = []
        for link in self._links.values():
            if link.connection is not None:
                link.send([packet for packet, source in outgoing if source != link.name])

    def _hear_lasting(self, link: Link, known: GossipSource, item: GossipItem, now: float) -> None:
        held = known.lasting.get(item.kind)
        if held is not None and not is_later(item, held):
            return
        waiting = known.waiting.get(item.kind)
        if waiting is not None and not is_later(item, waiting[0]):
            return
        if not known.rate.take(now):
            self.damped += 1
            known.waiting[item.kind] = (item, link)
            self._restless[item.origin] = None
            self._complain(link, f"{item.origin} changes its gossip entries too often", now)
            return
        self._accept(link, known, item, now)

    def _accept(self, link: Link, known: GossipSource, item: GossipItem, now: float) -> None:
        known.waiting.pop(item.kind, None)
        self._pass_on(link, item, now)
        self._replace(known.lasting, item)

    def _hear_passing(self, link: Link, known: GossipSource, item: GossipItem, now: float) -> None:
        if known.has_heard(item):
            return
        if not known.passing_rate.take(now):
            self.damped += 1
            self._complain(link, f"{item.origin} sends too much gossip", now)
            return
        known.heard(item)
        self._pass_on(link, item, now)

    def _hear_own(self, link: Link, item: GossipItem, now: float) -> None:
        """Our own item came round; or one that we never said, of an earlier life whose clock was
        ahead or of somebody with our name: we go beyond it."""
        mine = (self.life, self._counter)
        if (item.life, item.counter) > mine:
            self._complain(link, f"gossip entries in the name of this broker ({self.name})", now)
            self._leap_beyond = max(self._leap_beyond, item.life)

    def _leap(self, now: float) -> None:
        """Not often: somebody with our name does the same."""
        if abs(now - self._leapt_at) < LEAP_SECONDS:
            return
        self._leapt_at = now
        self.life = max(self.life, self._leap_beyond) + 1
        self._leap_beyond = 0
        for kind, old in list(self._own.items()):
            self.say(kind, old.body, now)

    def _pass_on(self, link: Link, item: GossipItem, now: float) -> None:
        """What its handler refuses with ProtocolError goes no further."""
        handler = self.handlers.get(item.kind)
        if handler is not None:
            try:
                handler(item.origin, item.body, now)
            except ProtocolError:
                raise
            except Exception as error:
                # Ours: the item is as good as any, and would come again over every link.
                self.core.faults.note("a word", error, f"kind {item.kind} of {item.origin}", now)
        self._outgoing.append((control_packet(FLOOD, encode_item(item)), link.name))

    def _take_waiting(self, now: float) -> None:
        for origin in list(self._restless):
            known = self._origins[origin]
            for item, link in list(known.waiting.values()):
                if not known.rate.take(now):
                    break
                try:
                    self._accept(link, known, item, now)
                except ProtocolError as error:
                    if link.connection is not None:
                        link.connection.fail(error.reason, error.text, now)
            if not known.waiting:
                del self._restless[origin]

    # Bookkeeping ----------------------------------------------------------------------------------

    def _spoken(self, kind: int, body: bytes, lasting: bool) -> GossipItem:
        self._counter += 1
        return GossipItem(self.name, self.life, self._counter, kind, lasting, body)

    def _replace(self, items: dict[int, GossipItem], item: GossipItem) -> None:
        old = items.get(item.kind)
        if old is not None:
            self._digest ^= _digest_of(old)
        items[item.kind] = item
        self._digest ^= _digest_of(item)

    def _lasting_of(self, origin: str) -> dict[int, GossipItem]:
        known = self._origins.get(origin)
        return {} if known is None else known.lasting

    def _all(self) -> list[GossipItem]:
        items = list(self._own.values())
        for known in self._origins.values():
            items.extend(known.lasting.values())
        return items

    def _complain(self, link: Link, what: str, now: float) -> None:
        self._complaints.say(link.name, what, now)


def _digest_of(item: GossipItem) -> int:
    identity = f"{item.origin}\0{item.kind}\0{item.life}\0{item.counter}".encode()
    return int.from_bytes(blake2b(identity, digest_size=8).digest(), "big")


class GossipSource:
    """One broker, since it was first heard of."""

    __slots__ = ("_highest", "_life", "_passing", "lasting", "passing_rate", "rate", "waiting")

    def __init__(self, now: float) -> None:
        self.lasting: dict[int, GossipItem] = {}  # by kind
        self.rate = TokenBucket(LASTING_A_SECOND, LASTING_BURST, now)
        self.passing_rate = TokenBucket(PASSING_A_SECOND, PASSING_BURST, now)
        self.waiting: dict[int, tuple[GossipItem, Link]] = {}  # damped, by kind
        self._life = 0  # of the passing items heard
        self._highest = 0
        self._passing: set[int] = set()

    def has_heard(self, item: GossipItem) -> bool:
        """Of a passing item: whether it came before, or is too old to tell. A later life begins
        anew: what was heard of the one before is forgotten."""
        if item.life != self._life:
            if item.life < self._life:
                return True
            self._life = item.life
            self._highest = 0
            self._passing = set()
        return item.counter <= self._highest - _WINDOW or item.counter in self._passing

    def heard(self, item: GossipItem) -> None:
        """A passing item, of the life that was asked for last."""
        passing = self._passing
        passing.add(item.counter)
        self._highest = max(self._highest, item.counter)
        if len(passing) > 2 * _WINDOW:
            oldest = self._highest - _WINDOW
            self._passing = {counter for counter in passing if counter > oldest}


class TokenBucket:
    """So many a second over time, and a burst of more at once."""

    __slots__ = ("_burst", "_left", "_rate", "_seen")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._seen = now

    def take(self, now: float) -> bool:
        """Whether one more is allowed; a clock that was set back refills nothing."""
        if now > self._seen:
            self._left = min(self._burst, self._left + (now - self._seen) * self._rate)
        self._seen = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True
