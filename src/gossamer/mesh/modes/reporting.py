"""What mode `auto` chose for each branch, and the numbers that it chose by."""

import json

from gossamer.mesh.modes.choosing import Choice, Choosing

_DIGITS = 3


def choice_view(choice: Choice) -> dict[str, str | int | float]:
    """`ratio` is equation 5: the bytes of filters as a part of those of flooding."""
    return {
        "mode": "pf" if choice.is_flooded else "ssf",
        "ratio": round(choice.ratio, _DIGITS),
        "ibr": round(choice.ibr(), _DIGITS),
        "spr": round(choice.spr(), _DIGITS),
        "interested": choice.interested,
        "brokers": choice.brokers,
        "published_bytes": round(choice.published),
        "subscribed_bytes": round(choice.subscribed),
    }


def choice_statistics(choosing: Choosing) -> dict[str, str]:
    """Topic (under `$SYS/mesh/`) to value."""
    return {
        f"auto/{branch}": json.dumps(choice_view(choice))
        for branch, choice in choosing.choices.items()
    }
