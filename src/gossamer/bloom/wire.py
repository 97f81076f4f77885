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
from typing import Final

from gossamer.bloom.bits import positions_in
from gossamer.bloom.errors import SummaryError
from gossamer.bloom.landmarks import (
    KINDS,
    MAPPED_LEVELS,
    MAX_PATTERNS,
    Landmarks,
    is_pattern_code,
)
from gossamer.bloom.sizes import MAX_BITS, MAX_HASHES
from gossamer.bloom.varints import VarintReader, put_gaps, put_number, read_gaps

MAGIC: Final = b"GB"
FORMAT: Final = 1

FULL_BITS: Final = 0
FULL_GAPS: Final = 1
DELTA: Final = 2
ANYTHING: Final = 3

_DIGEST_BYTES: Final = 8
_CRC_BYTES: Final = 4


class Update:
    """A message, taken apart and valid by itself. `bits` are the set or the flipped positions."""

    def __init__(
        self,
        kind: int,
        seed_id: int,
        size: int,
        hashes: int,
        elements: int,
        version: int,
        landmarks: Landmarks,
        digest: int,
        base: int,
        bits: list[int],
    ) -> None:
        self.kind = kind
        self.seed_id = seed_id
        self.size = size
        self.hashes = hashes
        self.elements = elements
        self.version = version
        self.landmarks = landmarks
        self.digest = digest
        self.base = base
        self.bits = bits
        self.cells = b""  # the array that `bits` were read from, if they came as one


def encode_full(update: Update, cells: bytes | bytearray) -> bytes:
    """The smaller of the two complete forms; `cells` are the bits of `update.bits` in an array."""
    if len(update.bits) < len(cells):  # a gap takes a byte or more
        gaps = bytearray()
        put_gaps(gaps, update.bits)
        if len(gaps) < len(cells):
            update.kind = FULL_GAPS
            return _sealed(update, bytes(gaps))
    update.kind = FULL_BITS
    return _sealed(update, bytes(cells))


def encode_delta(update: Update) -> bytes:
    body = bytearray()
    put_number(body, update.base)
    put_gaps(body, update.bits)
    update.kind = DELTA
    return _sealed(update, bytes(body))


def encode_anything(update: Update) -> bytes:
    update.kind = ANYTHING
    return _sealed(update, b"")


def _sealed(update: Update, body: bytes) -> bytes:
    out = bytearray(MAGIC)
    out.append(FORMAT)
    out.append(update.kind)
    out += update.seed_id.to_bytes(4, "big")
    for number in (update.size, update.hashes, update.elements, update.version):
        put_number(out, number)
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
    reader = VarintReader(sealed)
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
        bits = read_gaps(reader, size)
    if reader.left():
        raise SummaryError(f"the summary has {reader.left()} bytes too many")
    update = Update(kind, seed_id, size, hashes, elements, version, landmarks, digest, base, bits)
    update.cells = cells
    return update


def _put_landmarks(out: bytearray, landmarks: Landmarks) -> None:
    for word in landmarks.words():
        put_number(out, word)
    put_number(out, len(landmarks.codes) + 1 if landmarks.listed else 0)
    for code in landmarks.codes:
        put_number(out, code)


def _read_landmarks(reader: VarintReader) -> Landmarks:
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
