"""The wire form of a summary: complete, or as the bits that flipped between two versions.

    magic "GB" · format · kind · seed id (4) · size · hashes · elements · version
    · landmarks (7) · patterns · digest (8) · body · CRC-32 (4)

Numbers without a length are varints. Before the codes of the patterns stands their number plus one,
or 0 if they are too many to list. The body of a full summary is its bits, or, while few are set,
their gaps; that of a delta is the version it starts from and the gaps of the flipped bits. A third
kind has none: it says that anything may be wanted, from an advertiser whose bits are too full. The
CRC guards one message. The digest guards the state: it is a sum over the set bits after the
message, so that two sides that disagree find out, whatever went wrong between them.
"""

import zlib
from dataclasses import dataclass
from typing import Final

from gossamer.bloom.filter import MAX_BITS, MAX_HASHES, positions_in
from gossamer.bloom.landmarks import (
    KINDS,
    MAPPED_LEVELS,
    MAX_PATTERNS,
    Landmarks,
    is_pattern_code,
)

MAGIC: Final = b"GB"
FORMAT: Final = 1

FULL_BITS: Final = 0
FULL_GAPS: Final = 1
DELTA: Final = 2
ANYTHING: Final = 3

_DIGEST_BYTES: Final = 8
_CRC_BYTES: Final = 4
_MAX_VARINT: Final = 9  # Bytes, 63 bits: every number of the wire form fits a machine word.


class SummaryError(ValueError):
    """A summary from the wire that was refused; nothing changed, and the text says why."""


class _Reader:
    """Takes a message apart from its front; asking past its end is a `SummaryError`."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self.data):
            raise SummaryError("the summary ends too early")
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def left(self) -> int:
        return len(self.data) - self.at

    def number(self) -> int:
        value = 0
        for place in range(_MAX_VARINT):
            if self.at >= len(self.data):
                raise SummaryError("the summary ends too early")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return value
        raise SummaryError("a number in the summary is too long")


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """A message, taken apart and valid by itself.

    `bits` are the set or the flipped positions; `cells` the array that the set ones are in, if they
    are to be sent, or came, as one. `base` is the version that a delta starts from.
    """

    kind: int
    seed_id: int
    size: int
    hashes: int
    elements: int
    version: int
    landmarks: Landmarks
    digest: int
    base: int
    bits: list[int]
    cells: bytes


def encode(update: Update) -> bytes:
    """A full summary, of either kind, takes the smaller of its two forms."""
    kind = update.kind
    body = bytearray()
    if kind == DELTA:
        _put_number(body, update.base)
        _put_gaps(body, update.bits)
    elif kind != ANYTHING:
        cells = update.cells
        if len(update.bits) < len(cells):  # a gap takes a byte or more
            _put_gaps(body, update.bits)
        kind = FULL_GAPS
        if not body or len(body) >= len(cells):
            kind = FULL_BITS
            body = bytearray(cells)
    out = bytearray(MAGIC)
    out.append(FORMAT)
    out.append(kind)
    out += update.seed_id.to_bytes(4, "big")
    for number in (update.size, update.hashes, update.elements, update.version):
        _put_number(out, number)
    _put_landmarks(out, update.landmarks)
    out += update.digest.to_bytes(_DIGEST_BYTES, "big")
    out += body
    out += zlib.crc32(out).to_bytes(_CRC_BYTES, "big")
    return bytes(out)


def decode(data: bytes) -> Update:
    """Takes a message apart; `SummaryError` if it is not wholly as it should be."""
    if len(data) < len(MAGIC) + _CRC_BYTES or not data.startswith(MAGIC):
        raise SummaryError("this is not a Bloom summary")
    sealed = data[:-_CRC_BYTES]
    if zlib.crc32(sealed) != int.from_bytes(data[-_CRC_BYTES:], "big"):
        raise SummaryError("the summary has a wrong checksum")
    reader = _Reader(sealed)
    reader.take(len(MAGIC))
    form, kind = reader.take(2)
    if form != FORMAT:
        raise SummaryError(f"the summary has format {form}; only {FORMAT} is understood")
    if kind > ANYTHING:
        raise SummaryError(f"the summary is of an unknown kind, {kind}")
    seed_id = int.from_bytes(reader.take(4), "big")
    size = reader.number()
    hashes = reader.number()
    if not 0 < size <= MAX_BITS or not 0 < hashes <= MAX_HASHES:
        raise SummaryError(f"a summary of {size} bits and {hashes} hashes is out of range")
    elements = reader.number()
    version = reader.number()
    landmarks = _read_landmarks(reader)
    digest = int.from_bytes(reader.take(_DIGEST_BYTES), "big")
    base = reader.number() if kind == DELTA else 0
    bits: list[int] = []
    cells = b""
    if kind == FULL_BITS:
        cells = reader.take(reader.left())
        bits = _positions(cells, size)
    elif kind != ANYTHING:
        bits = _read_gaps(reader, size)
    if reader.left():
        raise SummaryError(f"the summary has {reader.left()} bytes too many")
    return Update(
        kind, seed_id, size, hashes, elements, version, landmarks, digest, base, bits, cells
    )


def _put_landmarks(out: bytearray, landmarks: Landmarks) -> None:
    for word in landmarks.words():
        _put_number(out, word)
    _put_number(out, len(landmarks.codes) + 1 if landmarks.listed else 0)
    for code in landmarks.codes:
        _put_number(out, code)


def _read_landmarks(reader: _Reader) -> Landmarks:
    landmarks = Landmarks()
    words = [reader.number() for _ in range(KINDS)]
    if max(words) >> (MAPPED_LEVELS + 1):
        raise SummaryError(f"the summary has landmarks below level {MAPPED_LEVELS}")
    landmarks.load(words)
    count = reader.number()
    if count > MAX_PATTERNS + 1:
        raise SummaryError(f"the summary lists more than {MAX_PATTERNS} patterns")
    codes = [reader.number() for _ in range(count - 1)]
    for code in codes:
        if not is_pattern_code(code):
            raise SummaryError(f"the summary lists {code}, which is not a pattern")
    if count:
        landmarks.list_patterns(codes)
    else:
        landmarks.unlist_patterns()
    return landmarks


def _positions(cells: bytes, size: int) -> list[int]:
    if len(cells) != (size + 7) // 8:
        raise SummaryError(f"the summary holds {len(cells)} bytes of {size} bits")
    bits = positions_in(cells)
    if bits and bits[-1] >= size:
        raise SummaryError(f"bit {bits[-1]} is outside of a summary of {size} bits")
    return bits


def _put_number(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _put_gaps(out: bytearray, positions: list[int]) -> None:
    """Ascending positions, each as its distance from the one before."""
    _put_number(out, len(positions))
    before = -1
    for position in positions:
        _put_number(out, position - before - 1)
        before = position


def _read_gaps(reader: _Reader, size: int) -> list[int]:
    """What `_put_gaps` wrote: ascending positions below `size`."""
    count = reader.number()
    if count > reader.left():
        raise SummaryError("the summary announces more bits than it holds")
    positions: list[int] = []
    before = -1
    for _ in range(count):
        before += reader.number() + 1
        if before >= size:
            raise SummaryError(f"bit {before} is outside of a summary of {size} bits")
        positions.append(before)
    return positions
