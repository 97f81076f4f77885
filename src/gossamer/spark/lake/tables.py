"""Tables of a lake: Delta tables, which a batch of a stream changes once however often it is tried.

Executors write Parquet files (`files.py`); the driver adds them to the table in one transaction of
its log, under the number of the batch. A batch that was interrupted is run again by Spark: a table
that has its number already leaves out what the second attempt wrote. What is computed from the
tables below takes the place of whole parts instead, which may happen twice.

Most tables are cut by hour, `2031-05-24T15`, or by date, in UTC.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.fs
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from gossamer.spark.lake.files import (
    BATCH,
    DATE,
    HOUR,
    NewFile,
    Target,
    hour_of,
    read_file,
    schema_of,
    write,
    write_rows,
)
from gossamer.spark.lake.folders import LakeError, delta_place, is_local, joined, opened

_SPARK_FORMS: Final = {HOUR: "yyyy-MM-dd'T'HH", DATE: "yyyy-MM-dd"}

# Under this name the log of a table has the last batch of a pipeline.
_WRITER: Final = "gossamer"
# A part of fewer files is read as fast as one of a single file.
FEWEST_FILES: Final = 8
FILE_BYTES: Final = 256 << 20
# What it takes to look after files is little beside so many batches.
BATCHES_BETWEEN_UPKEEP: Final = 100
# Of the log: the newest versions are read from one file, and older ones go with what they name.
_COMMITS_PER_CHECKPOINT: Final = 50
_AN_HOUR: Final = timedelta(hours=1)


def cut_of(time: Column, cut: str) -> Column:
    """The part that a row of this time belongs to."""
    return F.date_format(time, _SPARK_FORMS[cut])


def hours_between(first: datetime, last: datetime) -> list[str]:
    """All that have a moment of [first, last] in them."""
    found: list[str] = []
    at = first.replace(minute=0, second=0, microsecond=0)
    while at <= last:
        found.append(hour_of(at))
        at += _AN_HOUR
    return found


def hours_of(dates: Iterable[str]) -> list[str]:
    return [f"{date}T{hour:02}" for date in dates for hour in range(24)]


def span(files: Iterable[NewFile]) -> tuple[datetime | None, datetime | None]:
    """The first and the last time of their rows; none of none."""
    firsts = [one.first for one in files if one.first is not None]
    lasts = [one.last for one in files if one.last is not None]
    return _moment(min(firsts, default=None)), _moment(max(lasts, default=None))


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else datetime.fromtimestamp(micros / 1e6, UTC)


def table(
    spark: SparkSession, path: str, version: int | None = None, at: datetime | None = None
) -> DataFrame:
    """The rows of a lake's table: now, at one of its versions, or at a time.

    Versions are kept as long as the pipeline that writes the table was told to (`--history`).
    Raises LakeError.
    """
    place, options = delta_place(path)
    try:
        found = DeltaTable(place, version=version, storage_options=options)
        if at is not None:
            found.load_as_version(at)
    except DeltaError as problem:
        raise LakeError(f"{path}: {problem}") from problem
    return frame_of(spark, found, path)


class LakeTable:
    """`cut` is the column that cuts it into parts, "" for a table that is one. `keeps` is how long
    files that no longer count are kept, for those who are reading and for looks into the past."""

    def __init__(self, root: str, name: str, cut: str = "", keeps: timedelta = _AN_HOUR) -> None:
        self.name = name
        self.path = joined(root, name)
        self.target = Target(name, self.path, cut)
        self.cut = cut
        self._keeps = keeps
        self._place, self._options = delta_place(self.path)

    # Writing ------------------------------------------------------------------------------------

    def append(self, files: Sequence[NewFile], schema: pa.Schema, batch: int) -> None:
        """Adds the files of a batch, unless the table has this batch."""
        table = self.open()
        done = None if table is None else table.transaction_version(_WRITER)
        if done is not None and done >= batch:
            self._drop(files)
        elif files:
            self._commit(table, files, schema, "append", None, batch)

    def append_rows(self, rows: pa.Table, batch: int) -> None:
        """A few rows, written on the driver."""
        rows = rows.append_column(BATCH, pa.array([batch] * rows.num_rows, pa.int32()))
        self.append(write_rows(rows, self.target), rows.schema, batch)

    def write_batch(self, frame: DataFrame, batch: int) -> list[NewFile]:
        """The rows of a frame with a `time`, and the files that they are in."""
        columns = {BATCH: F.lit(batch), self.cut: cut_of(F.col("time"), self.cut)}
        cut = frame.withColumns(columns)
        files = write(cut, self.target)
        self.append(files, schema_of(cut), batch)
        return files

    def replace(self, frame: DataFrame, parts: Sequence[str] | None = None) -> None:
        """These parts, or all of the table, by the rows of the frame."""
        files = write(frame, self.target)
        table = self.open()
        filters = None if parts is None else [(self.cut, "in", list(parts))]
        self._commit(table, files, schema_of(frame), "overwrite", filters, None)

    def begin(self, files: Sequence[NewFile], schema: pa.Schema, batch: int | None) -> None:
        """As a new table that has all batches up to this one."""
        self._commit(None, files, schema, "append", None, batch)

    def _commit(
        self,
        table: DeltaTable | None,
        files: Sequence[NewFile],
        schema: pa.Schema,
        mode: str,
        filters: list[tuple[str, str, list[str]]] | None,
        batch: int | None,
    ) -> None:
        adds = [
            AddAction(
                path=one.path,
                size=one.size,
                partition_values={self.cut: one.part} if self.cut else {},
                modification_time=one.written,
                data_change=True,
                stats=one.stats,
            )
            for one in files
        ]
        writer = [] if batch is None else [Transaction(_WRITER, batch)]
        properties = CommitProperties(app_transactions=writer)
        by = [self.cut] if self.cut else []
        if table is None:
            create_table_with_add_actions(
                self._place,
                Schema.from_arrow(schema),
                adds,
                mode="error",
                partition_by=by,
                configuration=self._configuration(),
                storage_options=self._options,
                commit_properties=properties,
            )
            return
        changes: list[AddAction | RemoveAction] = [*adds]
        table.create_write_transaction(
            changes,
            mode,
            _with_new_columns(table, schema),
            partition_by=by,
            partition_filters=filters,
            commit_properties=properties,
        )

    def _configuration(self) -> dict[str, str | None]:
        kept = f"interval {max(1, round(self._keeps / _AN_HOUR))} hours"
        return {
            "delta.deletedFileRetentionDuration": kept,
            "delta.logRetentionDuration": kept,
            "delta.checkpointInterval": str(_COMMITS_PER_CHECKPOINT),
        }

    def _drop(self, files: Sequence[NewFile]) -> None:
        system, root = opened(self.path)
        for one in files:
            system.delete_file(f"{root}/{one.path}")

    # Reading ------------------------------------------------------------------------------------

    def open(self) -> DeltaTable | None:
        """As it is now; None while there is none."""
        try:
            return DeltaTable(self._place, storage_options=self._options)
        except TableNotFoundError:
            return None

    def read(
        self, spark: SparkSession, parts: Iterable[str] | None = None, *columns: str
    ) -> DataFrame | None:
        """These parts, or all; None while nothing has been written."""
        table = self.open()
        return None if table is None else frame_of(spark, table, self.path, parts, *columns)

    def rows(self, *columns: str) -> pa.Table | None:
        """Of a small table, all rows, on the driver."""
        table = self.open()
        if table is None:
            return None
        return table.to_pyarrow_table(columns=list(columns), filesystem=self._within())

    def _within(self) -> Any:
        system, root = opened(self.path)
        return pa.fs.SubTreeFileSystem(root, system)

    # Upkeep -------------------------------------------------------------------------------------

    def compact(self, before: str) -> list[str]:
        """The parts before this one that lie in many files, put together; all of the table if it is
        not cut."""
        table = self.open()
        if table is None:
            return []
        counts = Counter(part for _, part in _files(table))
        many = [part for part, count in counts.items() if count >= FEWEST_FILES]
        if not self.cut:
            if many:
                table.optimize.compact(target_size=FILE_BYTES)
            return many
        over = sorted(part for part in many if part < before)
        if over:
            table.optimize.compact([(self.cut, "in", over)], target_size=FILE_BYTES)
        return over

    def expire(self) -> None:
        """Versions and files that nobody can want any more, and what failed attempts left."""
        self._expire(max(1, round(self._keeps / _AN_HOUR)))

    def expire_all(self) -> None:
        """All but the present version. Nothing may be written or read meanwhile."""
        self._expire(0)

    def _expire(self, hours: int) -> None:
        table = self.open()
        if table is not None:
            table.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=True)
            table.create_checkpoint()
            table.cleanup_metadata()


class Upkeep:
    """Of the tables of one pipeline, in the first batch of a run and after so many more."""

    def __init__(self, tables: Iterable[LakeTable], compacts: bool) -> None:
        self._tables = tuple(tables)
        self._compacts = compacts
        self._batches_left = 0

    def now_and_then(self, final: datetime | None) -> None:
        """Between two batches. Parts that end before this time are complete."""
        self._batches_left -= 1
        if self._batches_left >= 0:
            return
        self._batches_left = BATCHES_BETWEEN_UPKEEP
        for table in self._tables:
            if self._compacts and final is not None:
                table.compact(hour_of(final))
            table.expire()


def frame_of(
    spark: SparkSession,
    table: DeltaTable,
    path: str,
    parts: Iterable[str] | None = None,
    *columns: str,
) -> DataFrame:
    """The rows of a table: files of this machine are read by Spark itself, those of an object store
    by pyarrow on the executors, which needs nothing of Java."""
    schema = pa.schema(table.schema().to_arrow())
    wanted = None if parts is None else set(parts)
    files = [(file, part) for file, part in _files(table) if wanted is None or part in wanted]
    if columns:
        schema = pa.schema([schema.field(name) for name in columns])
    kind = from_arrow_schema(schema)
    if not files:
        return spark.createDataFrame([], kind)
    _, root = opened(path)
    if is_local(path):
        paths = [f"{root}/{file}" for file, _ in files]
        rows = spark.read.schema(kind).option("basePath", root).parquet(*paths)
        return rows.select(*schema.names)  # without the cut, if nobody asked for it
    cut = "".join(table.metadata().partition_columns)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        system, root = opened(path)
        for batch in batches:
            for file, part in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                yield from read_file(system, f"{root}/{file}", schema, cut, part)

    tasks = min(len(files), 2 * spark.sparkContext.defaultParallelism)
    listed = spark.createDataFrame(files, "file string, part string").repartition(tasks)
    return listed.mapInArrow(read, kind)


def _files(table: DeltaTable) -> list[tuple[str, str]]:
    """Those that count, each with its part."""
    listed = pa.table(table.get_add_actions(flatten=True))
    cuts = table.metadata().partition_columns
    parts = listed.column(f"partition.{cuts[0]}").to_pylist() if cuts else [""] * len(listed)
    return list(zip(listed.column("path").to_pylist(), parts, strict=True))


def _with_new_columns(table: DeltaTable, schema: pa.Schema) -> Schema:
    """The table's schema, after it has got what is new in this one."""
    known = {field.name for field in table.schema().fields}
    new = [field for field in Schema.from_arrow(schema).fields if field.name not in known]
    if new:
        table.alter.add_columns(new)
        table.update_incremental()
    return table.schema()
