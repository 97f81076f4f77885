"""Messages in Spark: the source and sink `gossamer`, and subscriptions that compute.

Executors import this package to read rows, so what they do not need is loaded when it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.spark.data_source import register
    from gossamer.spark.fences.within import within
    from gossamer.spark.image_processing import look
    from gossamer.spark.lake.tables import table
    from gossamer.spark.offload.answers import answer
    from gossamer.spark.overview import archives, progress
    from gossamer.spark.session import start
    from gossamer.spark.source.progress import behind
    from gossamer.spark.source.reading import read
    from gossamer.spark.subscription import subscribe

__all__ = [
    "answer",
    "archives",
    "behind",
    "look",
    "progress",
    "read",
    "register",
    "start",
    "subscribe",
    "table",
    "within",
]

_HOMES = {
    "answer": "offload.answers",
    "archives": "overview",
    "behind": "source.progress",
    "look": "image_processing",
    "progress": "overview",
    "read": "source.reading",
    "register": "data_source",
    "start": "session",
    "subscribe": "subscription",
    "table": "lake.tables",
    "within": "fences.within",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
