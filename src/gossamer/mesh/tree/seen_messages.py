"""Which messages were here before, by their names.

Names of QoS 2 messages outlive a crash: they are saved in the transaction that has the message. The
memory is bounded for each source (a broker's life), by the last names that were heard of; a message
that comes after more than a million others of its source, by a second way, may come twice.
"""

from __future__ import annotations

import secrets
from typing import Final

from gossamer.session.journal import Journal, Saver
from gossamer.session.message_names import (
    SOURCE_BYTES,
    MessageNamer,
    ranges,
    run_name,
)
from gossamer.session.name_bits import CHUNK_BITS as _CHUNK_BITS
from gossamer.session.name_bits import CHUNK_BYTES as _CHUNK_BYTES
from gossamer.session.name_bits import NameBits

# Counters are remembered in chunks, one bit each; a chunk is what is saved.
_MOST_CHUNKS: Final = 2_048  # of one source: a million messages
_MOST_SOURCES: Final = 4_096  # each start of a broker is one
# A room of the store for each source, with chunks by their numbers.
_ROOMS: Final = "mesh/names/"


class _Source:
    __slots__ = ("changed", "chunks", "gone", "newest")

    def __init__(self) -> None:
        self.chunks: dict[int, int] = {}
        self.changed: dict[int, None] = {}  # that must be saved
        self.gone: list[int] = []
        self.newest = 0  # the last of the chunks


class SeenMessages(MessageNamer):
    """One broker's; it also gives names to what is let in here."""

    def __init__(self, journal: Journal, kept: dict[str, dict[str, bytes]]) -> None:
        self._journal = journal
        self._own = secrets.token_bytes(SOURCE_BYTES)
        self._counter = 0
        self._sources: dict[bytes, _Source] = {}
        self._dropped: list[str] = []
        for room in [room for room in kept if room.startswith(_ROOMS)]:
            source = self._source(bytes.fromhex(room[len(_ROOMS) :]))
            for number, data in kept.pop(room).items():
                source.chunks[int(number)] = int.from_bytes(data, "big")
                source.newest = max(source.newest, int(number))
        journal.savers.append(_NameSaver(self))

    def name(self, qos: int) -> bytes:
        return self.run_name(qos, 1)

    def run_name(self, qos: int, count: int) -> bytes:
        first = self._own + (self._counter + 1).to_bytes(SOURCE_BYTES, "big")
        self._counter += count
        name = run_name(first, count)
        self.remember(name, qos)
        return name

    def is_new(self, name: bytes, qos: int) -> bool:
        """Whether the name was never here; from now on it was."""
        source = self._source(name[:SOURCE_BYTES])
        number = int.from_bytes(name[SOURCE_BYTES:], "big")
        chunk = number // _CHUNK_BITS
        bit = 1 << number % _CHUNK_BITS
        if source.chunks.get(chunk, 0) & bit:
            return False
        self._add(source, chunk, bit, qos)
        return True

    def remember(self, name: bytes, qos: int) -> None:
        """All that it names, the wave too, was here."""
        for key, first, count in ranges(name):
            source = self._source(key)
            for chunk, bits in _bits_by_chunk(first, count):
                self._add(source, chunk, bits, qos)

    def known_of(self, key: bytes, first: int, count: int) -> int:
        """How many of so many messages of this source were here, the first of which has this
        counter."""
        source = self._sources.get(key)
        if source is None:
            return 0
        known = 0
        for chunk, bits in _bits_by_chunk(first, count):
            known += (source.chunks.get(chunk, 0) & bits).bit_count()
        return known

    def _add(self, source: _Source, chunk: int, bits: int, qos: int) -> None:
        before = source.chunks.get(chunk, 0)
        source.chunks[chunk] = before | bits
        if not before:
            source.newest = max(source.newest, chunk)
            if len(source.chunks) > _MOST_CHUNKS:
                oldest = next(iter(source.chunks))
                del source.chunks[oldest]
                source.changed.pop(oldest, None)
                source.gone.append(oldest)
        if qos == 2 and self._journal.keeps:
            source.changed[chunk] = None
            self._journal.dirty = True

    def knows(self, name: bytes) -> bool:
        source = self._sources.get(name[:SOURCE_BYTES])
        if source is None:
            return False
        number = int.from_bytes(name[SOURCE_BYTES:], "big")
        return bool(source.chunks.get(number // _CHUNK_BITS, 0) & 1 << number % _CHUNK_BITS)

    def latest(self) -> NameBits:
        """The last that were here of each source."""
        names = NameBits()
        for key, source in self._sources.items():
            names.put(key, source.newest, source.chunks)
        return names

    def is_own(self, name: bytes) -> bool:
        """Whether this broker gave it, or the first of the two of a wave."""
        return name.startswith(self._own)

    def is_forged(self, name: bytes) -> bool:
        """Whether it (or one of the two of a wave) claims to be ours, and we never gave it."""
        for source, first, count in ranges(name):
            if source == self._own and first + count - 1 > self._counter:
                return True
        return False

    def _source(self, key: bytes) -> _Source:
        source = self._sources.get(key)
        if source is None:
            if len(self._sources) >= _MOST_SOURCES:
                oldest = next(each for each in self._sources if each != self._own)
                del self._sources[oldest]
                self._dropped.append(_ROOMS + oldest.hex())
            source = _Source()
            self._sources[key] = source
        return source

    def save(self) -> None:
        """What has changed since the last time."""
        journal = self._journal
        for room in self._dropped:
            journal.drop_room(room)
        self._dropped = []
        for key, source in self._sources.items():
            if source.changed:
                room = _ROOMS + key.hex()
                for chunk in source.changed:
                    data = source.chunks[chunk].to_bytes(_CHUNK_BYTES, "big")
                    journal.keep(room, str(chunk), data)
                for chunk in source.gone:
                    journal.drop(room, str(chunk))
                source.changed = {}
                source.gone = []


def _bits_by_chunk(first: int, count: int) -> list[tuple[int, int]]:
    """The chunks of so many counters from there on, and the bits of them."""
    found: list[tuple[int, int]] = []
    end = first + count
    while first < end:
        chunk, offset = divmod(first, _CHUNK_BITS)
        width = min(end - first, _CHUNK_BITS - offset)
        found.append((chunk, ((1 << width) - 1) << offset))
        first += width
    return found


def as_replayed(name: bytes) -> bytes:
    """What is remembered of a retained message that was told where it was missing: it has been
    delivered here, and not yet passed on."""
    return bytes((name[0] ^ 0xFF,)) + name[1:]


class _NameSaver(Saver):
    """A namer and a saver are two classes, and a class has one base."""

    def __init__(self, memory: SeenMessages) -> None:
        self._memory = memory

    def save(self) -> None:
        self._memory.save()
