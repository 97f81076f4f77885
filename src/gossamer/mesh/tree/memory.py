"""Which messages were here before, by their names.

Names of QoS 2 messages outlive a crash: they are saved in the transaction that has the message. The
memory is bounded for each source (a broker's life), by the last names that were heard of; a message
that comes after more than a million others of its source, by a second way, may come twice.
"""

from __future__ import annotations

import secrets
from typing import Final

from gossamer.broker.neighbours import PEER_PREFIX
from gossamer.session.journal import Journal, Part, PartSource
from gossamer.session.naming import NAME_BYTES, Namer

_SOURCE_BYTES: Final = 8
# Counters are remembered in chunks, one bit each; a chunk is what is saved.
_CHUNK_BITS: Final = 512
_CHUNK_BYTES: Final = _CHUNK_BITS // 8
_MOST_CHUNKS: Final = 2_048  # of one source: a million messages
_MOST_SOURCES: Final = 4_096  # each start of a broker is one
# What the store keeps for the mesh has keys that begin like the names of its sessions.
_SEEN: Final = PEER_PREFIX + "seen/"


class _Source:
    __slots__ = ("changed", "chunks", "gone")

    def __init__(self) -> None:
        self.chunks: dict[int, int] = {}
        self.changed: dict[int, None] = {}  # that must be saved
        self.gone: list[int] = []


class Memory(Namer):
    """One broker's; it also gives names to what is let in here."""

    def __init__(self, journal: Journal, kept: list[tuple[str, str, bytes]]) -> None:
        self._journal = journal
        self._own = secrets.token_bytes(_SOURCE_BYTES)
        self._counter = 0
        self._sources: dict[bytes, _Source] = {}
        self._dropped: list[str] = []
        for state, part, data in kept:
            if state.startswith(_SEEN):
                source = self._source(bytes.fromhex(state[len(_SEEN) :]))
                source.chunks[int(part)] = int.from_bytes(data, "big")
        if journal.keeps:
            journal.parts = _Parts(journal.parts, self)

    def name(self, qos: int) -> bytes:
        self._counter += 1
        name = self._own + self._counter.to_bytes(_SOURCE_BYTES, "big")
        self.is_new(name, qos)
        return name

    def is_new(self, name: bytes, qos: int) -> bool:
        """Whether the name was never here; from now on it was."""
        source = self._source(name[:_SOURCE_BYTES])
        number = int.from_bytes(name[_SOURCE_BYTES:], "big")
        chunk = number // _CHUNK_BITS
        bit = 1 << number % _CHUNK_BITS
        bits = source.chunks.get(chunk, 0)
        if bits & bit:
            return False
        source.chunks[chunk] = bits | bit
        if not bits and len(source.chunks) > _MOST_CHUNKS:
            oldest = next(iter(source.chunks))
            del source.chunks[oldest]
            source.changed.pop(oldest, None)
            source.gone.append(oldest)
        if qos == 2 and self._journal.keeps:
            source.changed[chunk] = None
            self._journal.dirty = True
        return True

    def knows(self, name: bytes) -> bool:
        source = self._sources.get(name[:_SOURCE_BYTES])
        if source is None:
            return False
        number = int.from_bytes(name[_SOURCE_BYTES:], "big")
        return bool(source.chunks.get(number // _CHUNK_BITS, 0) & 1 << number % _CHUNK_BITS)

    def is_own(self, name: bytes) -> bool:
        """Whether this broker gave it, or the first of the two of a wave."""
        return name.startswith(self._own)

    def is_forged(self, name: bytes) -> bool:
        """Whether it (or one of the two of a wave) claims to be ours, and we never gave it."""
        for start in range(0, len(name), NAME_BYTES):
            if name.startswith(self._own, start):
                number = name[start + _SOURCE_BYTES : start + NAME_BYTES]
                if int.from_bytes(number, "big") > self._counter:
                    return True
        return False

    def _source(self, key: bytes) -> _Source:
        source = self._sources.get(key)
        if source is None:
            if len(self._sources) >= _MOST_SOURCES:
                oldest = next(each for each in self._sources if each != self._own)
                del self._sources[oldest]
                self._dropped.append(_SEEN + oldest.hex())
            source = _Source()
            self._sources[key] = source
        return source

    def take_dropped(self) -> list[str]:
        dropped = self._dropped
        self._dropped = []
        return dropped

    def take_changed(self) -> list[Part]:
        parts: list[Part] = []
        for key, source in self._sources.items():
            if source.changed:
                state = _SEEN + key.hex()
                for chunk in source.changed:
                    data = source.chunks[chunk].to_bytes(_CHUNK_BYTES, "big")
                    parts.append((state, str(chunk), data))
                for chunk in source.gone:
                    parts.append((state, str(chunk), None))
                source.changed = {}
                source.gone = []
        return parts


def as_replayed(name: bytes) -> bytes:
    """What is remembered of a retained message that was told where it was missing: it has been
    delivered here, and not yet passed on."""
    return bytes((name[0] ^ 0xFF,)) + name[1:]


class _Parts(PartSource):
    """What operators save, and what the memory does."""

    def __init__(self, others: PartSource, memory: Memory) -> None:
        self._others = others
        self._memory = memory

    def take_dropped(self) -> list[str]:
        return self._others.take_dropped() + self._memory.take_dropped()

    def take_changed(self) -> list[Part]:
        return self._others.take_changed() + self._memory.take_changed()
