"""What there is to read, for a person: archives as a table, and how far a long job has come.

from gossamer.spark import archives, progress

archives("10.0.0.1:1885,10.0.0.2:1885")        # a notebook shows it as a table
with progress(spark):
    rows.count()
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from gossamer.spark.data_source import register
from gossamer.spark.source.archives import find_replays
from gossamer.spark.source.source_options import read_source_options

_COLUMNS: Final = ("broker", "address", "earliest", "next", "rows")
_LOOK_SECONDS: Final = 0.3


class Archives:
    """The archives of some brokers, as they were when they were asked for."""

    def __init__(self, options: dict[str, str], rows: Sequence[tuple[str, ...]]) -> None:
        self._options = options
        self._rows = rows

    def read(self, spark: SparkSession, **options: str) -> DataFrame:
        """Their messages, with more options of the format."""
        register(spark)
        return spark.read.format("gossamer").options(**{**self._options, **options}).load()

    def __repr__(self) -> str:
        lines = [_COLUMNS, *self._rows]
        widths = [max(len(line[at]) for line in lines) for at in range(len(_COLUMNS))]
        return "\n".join(
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>"
            for row in self._rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def archives(brokers: str, **options: str) -> Archives:
    """Asks the replay services; `options` are those of the format. Raises SourceError, and
    ValueError for options that mean nothing."""
    asked = {"brokers": brokers, **options}
    rows = [
        (
            name,
            str(replay.address),
            f"{replay.earliest:,}",
            f"{replay.next:,}",
            f"{replay.next - replay.earliest:,}",
        )
        for name, replay in sorted(find_replays(read_source_options(asked)).items())
    ]
    return Archives(asked, rows)


@contextmanager
def progress(spark: SparkSession) -> Iterator[None]:
    """A bar of the tasks of what Spark does meanwhile, in a notebook or on a terminal.

    Not with Spark Connect, whose client shows its own.
    """
    tracker = spark.sparkContext.statusTracker()
    done = threading.Event()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("tasks"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, transient=True) as bar:
        task = bar.add_task("Spark", total=None)

        def follow() -> None:
            while not done.wait(_LOOK_SECONDS):
                stages = [tracker.getStageInfo(one) for one in tracker.getActiveStageIds()]
                running = [stage for stage in stages if stage is not None]
                if running:
                    total = sum(stage.numTasks for stage in running)
                    ended = sum(stage.numCompletedTasks for stage in running)
                    bar.update(task, total=total, completed=ended, description=running[0].name[:40])

        follower = threading.Thread(target=follow, name="progress", daemon=True)
        follower.start()
        try:
            yield
        finally:
            done.set()
            follower.join()
