"""All bridged brokers that this broker knows: who owns them, and what they are asked for.

Of the brokers that can reach a bridged broker exactly one deals with it, its owner. Each says every
two seconds which it reaches and which it owns. The owner is the first by name of those that reach
it and were heard of lately; the others stand by.
"""

from __future__ import annotations

import json
import logging
from typing import Final

from gossamer.broker.conditions import filter_of
from gossamer.broker.mesh_port import BRIDGE_PREFIX
from gossamer.broker.session_end import end_session
from gossamer.broker.timers import Timer
from gossamer.mesh.bridges.bridge import Bridge, BridgeSettings, bridge_room
from gossamer.mesh.json_fields import malformed, read_fields, text_of
from gossamer.mesh.mesh import Mesh
from gossamer.session.session import Session

logger = logging.getLogger(__name__)

# Time to hear of an owner before this broker makes itself one.
_GRACE_SECONDS: Final = 2.0
# Time for the mesh to learn what a new owner exports, before the old one lets go.
_HANDOVER_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 0.5
# The kind of gossip in which it is said.
BRIDGE_WORD: Final = 0x53
SAY_SECONDS: Final = 2.0
# Three items of it missed, and a bit of patience with a busy machine.
SILENCE_SECONDS: Final = 7.0
_MOST_BRIDGES: Final = 1_000
_REACHED: Final = 1
_OWNED: Final = 2
_MOST_FLAGS: Final = 0xFFFF  # a later version may have more of them


class Bridges:
    """Attach it to a mesh before the first link stands."""

    def __init__(self, mesh: Mesh, settings: list[BridgeSettings], now: float) -> None:
        self.mesh = mesh
        self.by_name: dict[str, Bridge] = {}
        self.claims = Ownership()
        self._shared: set[str] = set()  # filters of groups, and of what is counted here
        self._shared_seen = (-1, -1)
        self._starts_at = now + _GRACE_SECONDS
        self._said = b""
        self._said_at = 0.0
        core = mesh.core
        self._end_unknown({BRIDGE_PREFIX + each.name for each in settings}, now)
        for each in settings:
            bridge = Bridge(core, each, mesh.settings.mesh, mesh.settings.name)
            self.by_name[each.name] = bridge
            for session in core.sessions.values():
                if session is not bridge.session:
                    for read in mesh.needed_by(session):
                        bridge.wants.add(filter_of(read))
        mesh.bridges = self
        mesh.gossip.handlers[BRIDGE_WORD] = self.hear
        core.timers.add(now, _BridgeTimer(self))

    def hear(self, broker: str, body: bytes, now: float) -> None:
        self.claims.hear(broker, body, now)

    def wanted(self, filter: str, by: Session) -> None:
        for bridge in self.by_name.values():
            if bridge.session is not by:
                bridge.wants.add(filter_of(filter))

    def unwanted(self, filter: str, by: Session) -> None:
        for bridge in self.by_name.values():
            if bridge.session is not by:
                bridge.wants.remove(filter_of(filter))

    def end_turn(self, now: float) -> None:
        # A neighbour among these does not name its filters.
        is_blind = bool(self.mesh.core.routes.neighbour_interests)
        seen = (self.mesh.directory.changes, self.mesh.windows.counting.changes)
        if seen != self._shared_seen:
            self._shared_seen = seen
            self._look_at_shared()
        for bridge in self.by_name.values():
            bridge.wants.set_blind(is_blind)
            bridge.tell(now)

    def _look_at_shared(self) -> None:
        """What shared groups read is told to no neighbour, and what every broker counts of its own
        is not either; every broker knows it by itself."""
        shared: set[str] = set()
        if self.mesh.settings.is_joint:
            shared = self.mesh.directory.filters() | self.mesh.windows.counting.filters()
        for bridge in self.by_name.values():
            for filter in sorted(shared - self._shared):
                bridge.wants.add(filter)
            for filter in sorted(self._shared - shared):
                bridge.wants.remove(filter)
        self._shared = shared

    def look(self, now: float) -> None:
        """Whoever should own them does; and the mesh hears of it."""
        if now >= self._starts_at:
            for bridge in self.by_name.values():
                try:
                    self._settle(bridge, now)
                except Exception as error:
                    self.mesh.core.faults.note("a stock broker", error, bridge.name, now)
        has_others = len(self.by_name.keys() | self.claims.bridges()) > 1
        for bridge in self.by_name.values():
            bridge.sent.has_others = has_others
        reached = {
            name
            for name, bridge in self.by_name.items()
            if bridge.is_reached and now >= bridge.yields_until
        }
        owned = {name for name in reached if self.by_name[name].is_owner}
        claims = encode_claims(reached, owned)
        if claims != self._said or abs(now - self._said_at) >= SAY_SECONDS:
            self._said = claims
            self._said_at = now
            self.mesh.gossip.say(BRIDGE_WORD, claims, now)

    def leave(self, now: float) -> None:
        """This broker stops: another may take its place at once."""
        self.mesh.gossip.say(BRIDGE_WORD, encode_claims(set(), set()), now)

    def _settle(self, bridge: Bridge, now: float) -> None:
        own = self.mesh.settings.name
        # One that the mesh has lost is not waited for: the tree knows it sooner than its silence.
        is_reached = self.mesh.reachability.is_reached
        reaching = [each for each in self.claims.reaching(bridge.name, now) if is_reached(each)]
        if bridge.is_reached and now >= bridge.yields_until:
            reaching.append(own)
        if not reaching:
            return  # nobody does better than whoever has it
        if min(reaching) == own:
            bridge.own(now)
            return
        bridge.stand_by(now)
        if bridge.session.subscriptions and self.claims.is_owned(bridge.name, now):
            bridge.handed_over_at = bridge.handed_over_at or now
            if now - bridge.handed_over_at >= _HANDOVER_SECONDS:
                bridge.hand_over()

    def _end_unknown(self, known: set[str], now: float) -> None:
        """What waits for a bridged broker that is configured no more will never be sent."""
        core = self.mesh.core
        for client_id, session in list(core.sessions.items()):
            if client_id.startswith(BRIDGE_PREFIX) and client_id not in known:
                logger.warning(
                    "bridge %s was removed from the configuration: its queue is dropped", client_id
                )
                end_session(core, session, now)
                core.journal.drop_room(bridge_room(client_id[len(BRIDGE_PREFIX) :]))


class _BridgeTimer(Timer):
    def __init__(self, bridges: Bridges) -> None:
        self._bridges = bridges

    def fire(self, now: float) -> float:
        self._bridges.look(now)
        return now + _LOOK_SECONDS


def encode_claims(reached: set[str], owned: set[str]) -> bytes:
    claims = {name: _REACHED | (_OWNED if name in owned else 0) for name in sorted(reached)}
    return json.dumps(claims).encode()


class OwnershipClaim:
    """What one broker said last."""

    __slots__ = ("heard_at", "owned", "reached")

    def __init__(self, heard_at: float, reached: set[str], owned: set[str]) -> None:
        self.heard_at = heard_at
        self.reached = reached
        self.owned = owned


def decode_claims(body: bytes, now: float) -> OwnershipClaim:
    """Whatever is wrong with it is the neighbour's error."""
    said = read_fields(body, "bridge claims")
    if len(said.fields) > _MOST_BRIDGES:
        raise malformed("too many bridge claims")
    reached: set[str] = set()
    owned: set[str] = set()
    for key in said.fields:
        name = text_of(key, "a bridge claim without a name")
        flags = said.number(key, 0, _MOST_FLAGS)
        if flags & _REACHED:
            reached.add(name)
        if flags & _OWNED:
            owned.add(name)
    return OwnershipClaim(now, reached, owned)


class Ownership:
    """What all others said."""

    def __init__(self) -> None:
        self._by_broker: dict[str, OwnershipClaim] = {}

    def hear(self, broker: str, body: bytes, now: float) -> None:
        self._by_broker[broker] = decode_claims(body, now)

    def reaching(self, bridge: str, now: float) -> list[str]:
        """The brokers that reach it, as far as is known."""
        return [
            broker
            for broker, claim in self._by_broker.items()
            if bridge in claim.reached and _is_fresh(claim, now)
        ]

    def bridges(self) -> set[str]:
        """Those that any broker said it reaches."""
        return {bridge for claim in self._by_broker.values() for bridge in claim.reached}

    def is_owned(self, bridge: str, now: float) -> bool:
        """Whether another broker says that it deals with it."""
        return any(
            bridge in claim.owned and _is_fresh(claim, now) for claim in self._by_broker.values()
        )


def _is_fresh(claim: OwnershipClaim, now: float) -> bool:
    """A clock that was set back makes nobody immortal."""
    return abs(now - claim.heard_at) < SILENCE_SECONDS
