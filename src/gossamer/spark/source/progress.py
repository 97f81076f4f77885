"""What the progress of a streaming query says of archives: how far it is behind each broker.

Spark 4.3 asks no Python source for metrics (`sourceMetrics` stays empty), but it keeps the offsets
that a source reports: those of the batch, and the latest.
"""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryProgress


def behind(progress: "StreamingQueryProgress | None") -> dict[str, int]:
    """Rows that are archived and were not read in this batch or before, by broker; nothing of other
    sources, and nothing before the first batch.

    >>> behind(None)
    {}
    """
    found: dict[str, int] = {}
    for source in progress.sources if progress is not None else ():
        latest, end = _offsets(source.latestOffset), _offsets(source.endOffset)
        for broker in latest.keys() & end.keys():
            found[broker] = found.get(broker, 0) + max(latest[broker] - end[broker], 0)
    return found


def _offsets(text: str | None) -> dict[str, int]:
    """Of an offset of ours; other sources have others."""
    try:
        read = json.loads(text or "{}")
    except ValueError:
        return {}
    is_ours = isinstance(read, dict) and all(isinstance(offset, int) for offset in read.values())
    return read if is_ours else {}
