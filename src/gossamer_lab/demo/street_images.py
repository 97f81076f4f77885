"""Pictures of a street, drawn without any package: PNG is deflated rows of pixels."""

import struct
import zlib
from random import Random
from typing import Final

WIDTH: Final = 160
HEIGHT: Final = 96
HORIZON: Final = 40
_ROAD: Final = (70, 70, 75)
_LANE: Final = (200, 190, 120)
_CAR_COLOURS: Final = ((200, 40, 40), (40, 90, 200), (235, 235, 235), (40, 150, 80), (230, 170, 30))

Colour = tuple[int, int, int]


def street_picture(daylight: float, cars: int, chance: Random) -> bytes:
    """A road below a sky that is darker at night, with so many cars on it."""
    sky = _mixed((15, 18, 45), (140, 190, 235), daylight)
    rows = [[sky] * WIDTH for _ in range(HORIZON)]
    rows += [[_mixed((20, 20, 24), _ROAD, 0.4 + 0.6 * daylight)] * WIDTH for _ in range(56)]
    _fill(rows, 0, (HORIZON + HEIGHT) // 2, WIDTH, 2, _LANE)
    for _ in range(cars):
        width = chance.randrange(18, 30)
        left = chance.randrange(0, WIDTH - width)
        top = chance.choice((HORIZON + 6, HORIZON + 34))
        colour = chance.choice(_CAR_COLOURS)
        _fill(rows, left, top + 5, width, 9, colour)
        _fill(rows, left + width // 4, top, width // 2, 5, colour)
        _fill(rows, left + 3, top + 14, 4, 3, (0, 0, 0))
        _fill(rows, left + width - 7, top + 14, 4, 3, (0, 0, 0))
    return png(rows)


def png(rows: list[list[Colour]]) -> bytes:
    """True colour, eight bits, no filter."""
    raw = b"".join(b"\0" + bytes(part for colour in row for part in colour) for row in rows)
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2, 0, 0, 0)
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", header),
            _chunk(b"IDAT", zlib.compress(raw)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _fill(
    rows: list[list[Colour]], left: int, top: int, width: int, height: int, colour: Colour
) -> None:
    for row in rows[top : top + height]:
        row[left : left + width] = [colour] * len(row[left : left + width])


def _mixed(dark: Colour, light: Colour, share: float) -> Colour:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(dark, light, strict=True))
    return red, green, blue
