"""Which broker of the mesh deals with a bridged broker that several can reach: exactly one.

Each of them says every two seconds which bridged brokers it reaches and which it owns. The owner is
the first by name of those that reach it and were heard of lately; the others stand by.
"""

import json
from typing import Final

from gossamer.mesh.json_fields import malformed, read_fields, text_of

# The kind of these words among those that are flooded.
BRIDGE_WORD: Final = 0x53
SAY_SECONDS: Final = 2.0
# Three words missed, and a bit of patience with a busy machine.
SILENCE_SECONDS: Final = 7.0
_MOST_BRIDGES: Final = 1_000
_REACHED: Final = 1
_OWNED: Final = 2
_MOST_FLAGS: Final = 0xFFFF  # a later version may have more of them


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

    def is_owned(self, bridge: str, now: float) -> bool:
        """Whether another broker says that it deals with it."""
        return any(
            bridge in claim.owned and _is_fresh(claim, now) for claim in self._by_broker.values()
        )


def _is_fresh(claim: OwnershipClaim, now: float) -> bool:
    """A clock that was set back makes nobody immortal."""
    return abs(now - claim.heard_at) < SILENCE_SECONDS
