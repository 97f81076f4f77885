"""How long a published value stays valid: explicit (Message Expiry, `plus_ttl`) or implicit."""

import re
from calendar import timegm
from datetime import date
from typing import Final

IMPLICIT_TTL: Final = 3_600.0
TTL_PROPERTY: Final = "plus_ttl"

_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(\.\d{1,9})?(?:[Zz]|([+-])(\d\d):(\d\d))",
    re.ASCII,
)


def read_time(text: str) -> float:
    """Seconds of the wall clock for an RFC 3339 time; raises ValueError for anything else."""
    found = _RFC3339.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:40]!r} is not an RFC 3339 time")
    year, month, day, hour, minute, second = [int(found[n]) for n in range(1, 7)]
    date(year, month, day)  # refuses the 30th of February
    if hour > 23 or minute > 59 or second > 60:
        raise ValueError(f"{text!r} has no such time of day")
    seconds = float(timegm((year, month, day, hour, minute, second)))
    if found[7] is not None:
        seconds += float(found[7])
    if found[8] is not None:
        offset = int(found[9]) * 3600 + int(found[10]) * 60
        seconds += -offset if found[8] == "+" else offset
    return seconds


def valid_until(
    expires_at: float, user: list[tuple[str, str]], otherwise: float, wall_offset: float = 0.0
) -> float:
    """The end of a value's validity, or `otherwise` if the publisher set none.

    `expires_at` is where the Message Expiry Interval ends, 0 without one. Where both are given
    the earlier holds, so that neither promise is broken. Raises ValueError for a bad `plus_ttl`.
    """
    ends = expires_at if expires_at > 0.0 else 0.0
    for name, value in user:
        if name == TTL_PROPERTY:
            stated = read_time(value) - wall_offset
            if ends == 0.0 or stated < ends:
                ends = stated
    return ends if ends != 0.0 else otherwise
