"""The scalars of GLP: what each field between semicolons may be. ValueError says what is wrong."""

import math
import re
from typing import Final

from gossamer.geo.earth import MAX_REACH, Point

UNITS: Final = {"km": 1000.0, "m": 1.0, "dm": 0.1, "cm": 0.01}
MAX_NUMBER: Final = 2**32 - 1
SHOWN: Final = 40  # characters of a stranger's text that a reason string repeats

_DECIMAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_INTEGER: Final = re.compile(r"[0-9]{1,10}")


def shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def read_decimal(text: str, what: str) -> float:
    if not _is_plain(text) and _DECIMAL.fullmatch(text) is None:
        raise ValueError(f"{what} {shown(text)} is not a number")
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{what} {shown(text)} is out of range")
    return value


def _is_plain(text: str) -> bool:
    """Whether it is a sign, digits and a point among them: most are, and thousands of them may
    come in one packet."""
    digits = text[1:] if text.startswith("-") else text
    return digits.isascii() and digits.replace(".", "", 1).isdigit()


def read_number(text: str) -> int:
    """The id of an area."""
    if _INTEGER.fullmatch(text) is None or int(text) > MAX_NUMBER:
        raise ValueError(f"id {shown(text)} is not an integer from 0 to {MAX_NUMBER}")
    return int(text)


def read_unit(text: str) -> float:
    """Metres in one such unit."""
    unit = UNITS.get(text)
    if unit is None:
        raise ValueError(f"unit {shown(text)} is none of {', '.join(UNITS)}")
    return unit


def read_flag(text: str, what: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError(f"{what} {shown(text)} is neither 0 nor 1")
    return text == "1"


def read_point(lat_text: str, lon_text: str) -> Point:
    lat = read_decimal(lat_text, "latitude")
    lon = read_decimal(lon_text, "longitude")
    if not -90.0 <= lat <= 90.0:
        raise ValueError(f"latitude {shown(lat_text)} is not from -90 to 90")
    if not -180.0 <= lon <= 180.0:
        raise ValueError(f"longitude {shown(lon_text)} is not from -180 to 180")
    return Point(lat, lon)


def read_length(text: str, unit: float, what: str) -> float:
    """In metres; more than nothing, and no more than the earth has room for."""
    value = read_decimal(text, what) * unit
    if value <= 0.0:
        raise ValueError(f"{what} {shown(text)} is not more than 0")
    if value > MAX_REACH:
        raise ValueError(f"{what} {shown(text)} is over {MAX_REACH / 1000:.0f} km")
    return value
