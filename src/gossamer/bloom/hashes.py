"""Hashes of topic prefixes: keyed by the deployment's seed, the same on every machine.

A hash is 62 bits of one machine word: two lanes of 31 bits, so that compiled and interpreted code
compute the same without overflow, and one lane is the start and the other the step of the double
hashing in a Bloom filter.

- A *level* is hashed as a polynomial over the prime 2³¹-1 at two points that the seed keeps
  secret. Two different levels of n bytes collide with a probability of about (n / 2³¹)², whoever
  chose them: without the seed nobody can aim.
- A *prefix* extends the hash of the prefix before it by one level, so all the prefixes of a topic
  cost one pass. The wildcards and the end of a filter are tokens drawn from the seed, so no text
  that a topic can spell is mistaken for them.
"""

from hashlib import blake2b
from typing import Final

from mypy_extensions import i64

LANE_BITS: Final = 31
LANE: Final = 0x7FFF_FFFF  # A lane's mask, and the prime of the polynomials.

_SLASH: Final = 0x2F
_CHUNK_FULL: Final = 0xFFFF_FFFF_FFFF  # A chunk above it holds seven bytes: none of them is zero.
_HALF_BITS: Final = 28  # Half a chunk: below the prime, so two chunks never look alike.
_HALF: Final = 0xFFF_FFFF
_POINT: Final = 0x3FFF_FFFF  # Below 2³⁰, so that one folding keeps a lane below 2³².
_FRESH: Final = 1 << LANE_BITS | 1  # Both polynomials are monic: their degree tells the length.


SCANNED_LEVELS: Final = 50  # What `scan` has room for; ordinary topics have less than ten.


class _Slot:
    """Holds one hash as a machine word; in a list of numbers each would be an object."""

    def __init__(self) -> None:
        self.hash: i64 = 0


class TopicHasher:
    """Everything that is drawn from one seed."""

    def __init__(self, seed: bytes = b"") -> None:
        drawn = blake2b(seed, digest_size=64, person=b"gossamer-bloom").digest()
        words = [int.from_bytes(drawn[at : at + 8], "big") for at in range(0, 64, 8)]
        self.seed_id: int = words[0] & 0xFFFF_FFFF
        self._point_a: i64 = words[1] & _POINT
        self._point_b: i64 = words[1] >> 32 & _POINT
        self._factor_a: i64 = (words[2] & LANE) | 1
        self._factor_b: i64 = (words[2] >> 32 & LANE) | 1
        self.root: i64 = words[3] >> 2
        self.plus: i64 = words[4] >> 2
        self.hash: i64 = words[5] >> 2
        self.end: i64 = words[6] >> 2
        self._slots = [_Slot() for _ in range(SCANNED_LEVELS + 1)]

    def levels(self, topic: bytes) -> list[int]:
        """The hash of each level of a topic name, however many it has."""
        found: list[int] = []
        for level in topic.split(b"/"):
            self.scan(level)
            found.append(self._slots[0].hash)
        return found

    def scan(self, topic: bytes) -> i64:
        """Hashes the levels for `level`, until the next scan; returns their number.

        Past `SCANNED_LEVELS` it stops: the number is then one more, and no level is to be asked.
        """
        slots = self._slots
        depth: i64 = 0
        state: i64 = _FRESH
        chunk: i64 = 0
        for at in range(len(topic)):
            byte: i64 = topic[at]
            if byte == _SLASH:
                slots[depth].hash = self._absorb(state, chunk)
                if depth == SCANNED_LEVELS:
                    break
                depth += 1
                state = _FRESH
                chunk = 0
            else:
                chunk = chunk << 8 | byte
                if chunk > _CHUNK_FULL:
                    state = self._absorb(state, chunk)
                    chunk = 0
        slots[depth].hash = self._absorb(state, chunk)
        return depth + 1

    def level(self, at: i64) -> i64:
        """The hash of a level of the topic that was scanned last."""
        return self._slots[at].hash

    def filter_levels(self, filter: str) -> list[int]:
        """The same for a filter, with the tokens of `+` and `#` in their places."""
        found = self.levels(filter.encode())
        if "+" in filter or "#" in filter:
            texts = filter.split("/")
            for at in range(len(texts)):
                if texts[at] == "+":
                    found[at] = self.plus
                elif texts[at] == "#":
                    found[at] = self.hash
        return found

    def extend(self, prefix: i64, level: i64) -> i64:
        """The hash of a prefix with one more level; one to one in either argument."""
        mask: i64 = LANE
        a = (((prefix ^ level) >> LANE_BITS) * self._factor_a) & mask
        a ^= a >> 15
        b = ((((prefix ^ level) & mask) ^ a) * self._factor_b) & mask
        b ^= b >> 14
        return a << LANE_BITS | b

    def _absorb(self, state: i64, chunk: i64) -> i64:
        """Two more coefficients of both polynomials, each reduced by folding."""
        prime: i64 = LANE
        low = chunk & _HALF
        high = chunk >> _HALF_BITS
        a = (state >> LANE_BITS) * self._point_a + low
        a = ((a & prime) + (a >> LANE_BITS)) * self._point_a + high
        a = (a & prime) + (a >> LANE_BITS)
        a = (a & prime) + (a >> LANE_BITS)
        b = (state & prime) * self._point_b + low
        b = ((b & prime) + (b >> LANE_BITS)) * self._point_b + high
        b = (b & prime) + (b >> LANE_BITS)
        b = (b & prime) + (b >> LANE_BITS)
        return a << LANE_BITS | b
