"""`$SYS/capabilities`: a JSON list of every operator, in the shape of the paper's Figure 1."""

import json
from typing import Final

from gossamer.plus.aggregates.table import FUNCTIONS
from gossamer.plus.rules import RULES
from gossamer.plus.vocabulary import ProcessorKind, Vocabulary

CAPABILITIES_TOPIC: Final = "$SYS/capabilities"


def capabilities(vocabulary: Vocabulary) -> bytes:
    """Processors first, then rules, aggregates over topics and aggregates over time."""
    entries = [_processor(kind) for kind in vocabulary.processors.values()]
    entries += [_entry(kind.keyword, kind.description, "payload", "rule") for kind in RULES]
    entries += [
        _entry(kind.keyword, f"{kind.description} over the topics that match", "value", "spatial")
        for kind in FUNCTIONS
    ]
    entries += [
        _entry(
            window.name + kind.keyword,
            f"{kind.description} of each topic in windows of {window.seconds:g} seconds",
            "value",
            "temporal",
        )
        for window in vocabulary.windows.values()
        for kind in FUNCTIONS
    ]
    return json.dumps(entries, separators=(",", ":")).encode()


def _processor(kind: ProcessorKind) -> dict[str, str]:
    """One that cannot be had here says why."""
    entry = _entry(kind.keyword, kind.description, kind.returns, "processor")
    if kind.trouble:
        entry["unavailable"] = kind.trouble
    return entry


def _entry(keyword: str, description: str, returns: str, kind: str) -> dict[str, str]:
    return {"keyword": f"${keyword}", "desc": description, "returns": returns, "kind": kind}
