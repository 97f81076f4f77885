"""`look`: what a processor sees in each payload, with nothing left out."""

from collections.abc import Mapping

from pyspark.sql import DataFrame

from gossamer.spark.images.installed import known_processors
from gossamer.spark.images.processors import Processor, looked_at
from gossamer.vision.settings import WorkerSettings


def look(
    frame: DataFrame,
    keyword: str,
    *,
    processors: Mapping[str, Processor] | None = None,
    vision: WorkerSettings | None = None,
) -> DataFrame:
    """The frame (`topic`, `payload`, …) with `answer`, or null and the `problem` with the image.

    Bad images can so be kept aside. Raises ValueError.
    """
    known = known_processors(processors)
    if keyword not in known:
        raise ValueError(f"no processor ${keyword}; there are {', '.join(sorted(known))}")
    return looked_at(frame, keyword, known[keyword], vision)
