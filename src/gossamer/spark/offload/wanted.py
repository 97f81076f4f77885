"""One operator that a broker wants computed, as it tells it."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gossamer.plus.operators.windows import Window
from gossamer.plus.registry import DEFAULT_WINDOWS


@dataclass(frozen=True)
class WantedOperator:
    key: str  # under which the broker takes answers
    filter: str
    reply: str
    ttl: float
    windows: tuple[tuple[str, float], ...]
    since: float

    def own_windows(self) -> list[Window]:
        """Those that are not known everywhere."""
        known = {window.keyword for window in DEFAULT_WINDOWS}
        return [Window(name, seconds) for name, seconds in self.windows if name not in known]

    def starting(self) -> str:
        """For the source: what is published from the first subscription on."""
        return datetime.fromtimestamp(self.since, UTC).isoformat()


def read_wanted(payload: bytes) -> WantedOperator:
    """Raises ValueError."""
    try:
        told: dict[str, Any] = json.loads(payload)
        return WantedOperator(
            key=str(told["key"]),
            filter=str(told["filter"]),
            reply=str(told["reply"]),
            ttl=float(told["ttl"]),
            windows=tuple((str(name), float(told["windows"][name])) for name in told["windows"]),
            since=float(told["since"]),
        )
    except (KeyError, TypeError, AttributeError) as problem:
        raise ValueError(f"not what a broker tells: {problem!r}") from None
