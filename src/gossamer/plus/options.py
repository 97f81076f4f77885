"""What a subscriber may set beside the filter: MQTT 5 User Properties of its SUBSCRIBE."""

from typing import Final

from gossamer.plus.errors import PlusError
from gossamer.plus.limits import MAX_EVERY_SECONDS
from gossamer.plus.nodes import OperatorPlan
from gossamer.plus.values import read_number

OPTION_PREFIX: Final = "plus_"
REPLY_PROPERTY: Final = "plus_reply"
EVERY_PROPERTY: Final = "plus_every"

_REPLIES: Final = {"rpt": True, "skr": False}


class Options:
    """The defaults are those of a subscriber that sets nothing."""

    __slots__ = ("every", "names_participants")

    def __init__(self, names_participants: bool = False, every: float = 0.0) -> None:
        self.names_participants = names_participants  # RPT
        self.every = every  # seconds between two results of a spatial aggregate, at least


def read_options(user: list[tuple[str, str]]) -> Options:
    """Raises PlusError for a value that is not allowed; other names are not ours."""
    options = Options()
    for name, value in user:
        if name == REPLY_PROPERTY:
            if value.lower() not in _REPLIES:
                raise PlusError(f"{REPLY_PROPERTY} is skr or rpt, not {value[:40]!r}")
            options.names_participants = _REPLIES[value.lower()]
        elif name == EVERY_PROPERTY:
            seconds = read_number(value.encode())
            if not 0.0 <= seconds <= MAX_EVERY_SECONDS:
                raise PlusError(
                    f"{EVERY_PROPERTY} is 0 to {MAX_EVERY_SECONDS:.0f} seconds, not {value[:40]!r}"
                )
            options.every = seconds
    return options


def settled(plan: OperatorPlan, options: Options) -> Options:
    """The options as they matter to this plan: what the chain says wins, the rest is dropped.

    Subscriptions that behave the same thus have the same key, and share their state.
    """
    spatial = plan.spatial
    if spatial is None:
        return Options()
    stated = spatial.names_participants
    wild = any(level in ("+", "#") for level in plan.filter.split("/"))
    named = stated if stated is not None else options.names_participants
    return Options(named and wild, options.every if plan.temporal is None else 0.0)
