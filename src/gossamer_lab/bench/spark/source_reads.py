"""Rows from the archive through the source, beside Spark's own reading of the sealed files."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from gossamer_lab.bench.spark import archives
from gossamer_lab.bench.spark.comparison import Comparison, compare

TOPICS: Final = 1_000
# Of Spark's own rate.
WANTED: Final = 0.8

Sink = Callable[[DataFrame], None]


def measure(spark: SparkSession, folder: Path, rows: int, repeat: int) -> Iterator[Comparison]:
    places = {"the log": folder / "log", "sealed segments": folder / "sealed"}
    for path in places.values():
        archives.fill(path, rows, TOPICS, archives.texts(), seals=path.name == "sealed")
    native = spark.read.parquet(archives.sealed_files(folder / "sealed"))
    sinks: dict[str, Sink] = {
        "no-op": drop,
        "Parquet": lambda frame: write_parquet(frame, folder / "written"),
    }
    for place, path in places.items():
        with archives.serving(path) as (_, address):
            frame = spark.read.format("gossamer").option("brokers", address).load()
            for sink, put in sinks.items():
                yield _compared(f"{place} to {sink}", rows, put, frame, native, repeat)


def _compared(
    title: str, rows: int, put: Sink, ours: DataFrame, theirs: DataFrame, repeat: int
) -> Comparison:
    return compare(
        title, rows, lambda: put(ours), lambda: put(theirs), repeat=repeat, wanted=WANTED
    )


def drop(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def write_parquet(frame: DataFrame, folder: Path) -> None:
    frame.write.mode("overwrite").parquet(str(folder))
