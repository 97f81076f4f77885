"""The operators that a broker has, from its `$SYS/capabilities`, sorted for a form."""

import json
from dataclasses import dataclass
from typing import Any

from gossamer.console.broker_watch import BrokerWatch
from gossamer.net.admin.client import AdminError
from gossamer.plus.capabilities import CAPABILITIES_TOPIC, capabilities
from gossamer.plus.vocabulary import Vocabulary


@dataclass(frozen=True)
class Capabilities:
    """Keywords without `$`, each with what it does."""

    rules: dict[str, str]
    functions: dict[str, str]
    windows: tuple[str, ...]
    processors: dict[str, str]


def read_capabilities(text: bytes | str) -> Capabilities:
    """ValueError if it is not such a list."""
    entries: list[dict[str, Any]] = json.loads(text)
    kinds: dict[str, dict[str, str]] = {}
    for entry in entries:
        if "unavailable" not in entry:
            found = kinds.setdefault(entry["kind"], {})
            found[entry["keyword"].removeprefix("$")] = entry["desc"]
    functions = kinds.get("spatial", {})
    windows = {
        keyword.removesuffix(function)
        for keyword in kinds.get("temporal", {})
        for function in functions
        if keyword.endswith(function)
    }
    # QUARTERHOURLYAVG ends with AVG only, but a window named XMIN would also end with MIN.
    shortest = [one for one in windows if not any(one != w and one.startswith(w) for w in windows)]
    return Capabilities(
        kinds.get("rule", {}), functions, tuple(sorted(shortest)), kinds.get("processor", {})
    )


BUILT_IN = read_capabilities(capabilities(Vocabulary()))


async def capabilities_of(broker: BrokerWatch) -> Capabilities:
    """Those of the broker; those of every broker where it does not tell."""
    try:
        answer = await broker.ask("GET", "/v1/retained", {"filter": CAPABILITIES_TOPIC})
        return read_capabilities(answer["entries"][0]["payload"])
    except (AdminError, ValueError, KeyError, IndexError, TypeError):
        return BUILT_IN
