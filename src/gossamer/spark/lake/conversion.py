"""The format of a lake, and lakes of the format before: folders of Parquet with a folder a batch.

A lake is converted where it is. Each of its tables is written anew as a Delta table, and what was
there goes when all of them are. A conversion that was interrupted begins again: a table that is
converted stays, one that is not has no log yet. Batches that were not finished are left out; Spark
runs them again.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from gossamer.spark.lake.files import BATCH, DATE, HOUR, schema_of, write
from gossamer.spark.lake.folders import LakeError, is_local, joined, opened, read_text, write_text
from gossamer.spark.lake.tables import LakeTable

CHECKPOINTS: Final = "_checkpoints"
# 1: folders by date, hour and batch. 2: Delta tables. It is in a file of this name among the
# checkpoints; where that is not there, it is 1.
FORMAT: Final = 2
FORMAT_FILE: Final = "format"

# The pipelines whose checkpoints count, and how their tables are cut now.
_HOURLY: Final = {
    "lake": ("bronze/messages", "silver/readings", "silver/aside", "gold/minute", "gold/quarter"),
    "geo": ("geo/positions",),
    "insight": ("insight/traffic",),
}
_DAILY: Final = {
    "lake": ("gold/hour", "gold/day"),
    "geo": ("geo/tracks", "geo/visits", "geo/dwells"),
    "insight": ("insight/sessions", "insight/subscriptions", "insight/links"),
}
_WHOLE: Final = {
    "lake": ("gold/corrections", "batches"),
    "insight": tuple(
        f"insight/{name}" for name in ("topics", "filters", "unread", "link_loads", "placement")
    ),
}
# Half of a compaction that was interrupted.
_OLD: Final = "_compacting/old"
_NEW: Final = "_compacting/new"
_PARTS: Final = re.compile(rf"({DATE}|{BATCH})=.*")


def prepare(
    spark: SparkSession, lake: str, note: Callable[[str], None] = lambda text: None
) -> list[str]:
    """Makes the lake one of this format, and says which tables were converted for that. Raises
    LakeError for one of a later version, before anything in it is changed."""
    stated = read_text(joined(lake, CHECKPOINTS, FORMAT_FILE))
    found = _number(lake, stated)
    if found > FORMAT:
        raise LakeError(
            f"the lake {lake} has format {found} and this version knows {FORMAT}; it is left as it "
            "is: use a newer gossamer, or begin in another folder (--lake)"
        )
    converted: list[str] = []
    if found < FORMAT:
        for name, cut, pipeline in _tables():
            if _convert(spark, lake, LakeTable(lake, name, cut), pipeline):
                note(f"{name} is a Delta table now")
                converted.append(name)
        write_text(joined(lake, CHECKPOINTS, FORMAT_FILE), str(FORMAT))
    return converted


def _number(lake: str, stated: str | None) -> int:
    if stated is None:
        return 1
    if not stated.strip().isdigit():
        raise LakeError(f"the format of the lake {lake} is not a number: {stated!r}")
    return int(stated)


def _tables() -> Iterator[tuple[str, str, str]]:
    for cut, names in ((HOUR, _HOURLY), (DATE, _DAILY), ("", _WHOLE)):
        for pipeline, tables in names.items():
            for table in tables:
                yield table, cut, pipeline


def _convert(spark: SparkSession, lake: str, table: LakeTable, pipeline: str) -> bool:
    if not is_local(lake):
        return False  # there were none of that format
    folder = Path(opened(table.path)[1])
    if not any(folder.rglob("*.parquet")):
        return False
    if table.open() is None:
        _finish_compaction(folder)
        last = _last_batch(Path(opened(joined(lake, CHECKPOINTS, pipeline))[1]))
        rows = _rows(spark, folder, table.cut, last)
        table.begin(write(rows, table.target), schema_of(rows), last)
    table.expire_all()
    _sweep(folder)
    return True


def _sweep(folder: Path) -> None:
    """What the old format had beside its files, and folders that are empty now."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.suffix == ".crc" or path.name == "_SUCCESS":
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()


def _rows(spark: SparkSession, folder: Path, cut: str, last: int | None) -> DataFrame:
    """All that finished batches have written, in the columns of now."""
    parts = [str(path) for path in folder.iterdir() if _PARTS.fullmatch(path.name)]
    # What a conversion that was interrupted has written has other names.
    reader = spark.read.options(basePath=str(folder), pathGlobFilter="part-*")
    rows = reader.parquet(*(parts or [str(folder)]))
    if BATCH in rows.columns and last is not None:
        rows = rows.where(F.col(BATCH) <= last)
    date = F.col(DATE).cast("string")
    made: dict[str, Column] = {}
    if cut == HOUR:
        made[HOUR] = F.concat(date, F.lit("T"), F.lpad(F.col(HOUR).cast("string"), 2, "0"))
    elif cut == DATE:
        made[DATE] = date
    if folder.name == "traffic":
        rows = rows.withColumnRenamed("last", "time")
    rows = rows.withColumns(made)
    return rows.drop(DATE) if cut != DATE else rows


def _last_batch(checkpoint: Path) -> int | None:
    """The last that Spark knows to be finished; -1 if there is none yet, None without a
    checkpoint."""
    if not checkpoint.is_dir():
        return None
    commits = (path.name for path in checkpoint.glob("commits/*"))
    return max((int(name) for name in commits if name.isdigit()), default=-1)


def _finish_compaction(folder: Path) -> None:
    for hour in (folder / _OLD).glob(f"{DATE}=*/{HOUR}=*"):
        place = hour.relative_to(folder / _OLD)
        if not (folder / place).exists():
            new = folder / _NEW / place
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (new if new.exists() else hour).rename(folder / place)
