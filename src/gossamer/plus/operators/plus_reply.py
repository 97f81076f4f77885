"""`plus_reply`: what stands for wildcards in the topics of results, as `$AVG;RPT` says it too."""

from typing import Final

from gossamer.plus.operators.kinds import OptionKind, Options
from gossamer.plus.plan import PlusError

_REPLIES: Final = {"rpt": True, "skr": False}


def _read(options: Options, text: str) -> None:
    if text.lower() not in _REPLIES:
        raise PlusError(f"{PLUS_REPLY.keyword} is skr or rpt, not {text[:40]!r}")
    options.names_participants = _REPLIES[text.lower()]


PLUS_REPLY = OptionKind(
    "plus_reply", "results name the topics that take part (rpt), or a keyword (skr)", _read
)
