"""Parquet files for tables of a lake, written where the rows are: on the executors, by pyarrow.

A file is nobody's until a table's log names it, so a task that is killed or runs twice leaves
nothing that a reader could see. What a task wrote goes to the driver as rows, one for each file.
"""

import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from gossamer.spark.lake.folders import is_local, opened

DATE: Final = "date"
HOUR: Final = "hour"
BATCH: Final = "batch"
_HOUR_FORM: Final = "%Y-%m-%dT%H"

# So much is gathered in a task before it is written: files that are worth opening, and memory that
# an executor has.
CHUNK_BYTES: Final = 64 << 20
ROWS_PER_GROUP: Final = 131_072
# Columns that files are chosen by; a longer text is not worth its place in the log.
_STATED: Final = ("topic", "field", "broker", "offset", "batch", "time", "start")
_LONGEST_STATED: Final = 128


class NewFile(NamedTuple):
    """A file that a task wrote; `part` is empty where the table is not cut."""

    table: str
    path: str  # within the table
    part: str
    size: int
    rows: int
    first: int | None  # of its times, in microseconds
    last: int | None
    stats: str  # as Delta has them
    written: int  # milliseconds since 1970


FILES: Final = pa.schema(
    [
        ("table", pa.string()),
        ("path", pa.string()),
        ("part", pa.string()),
        ("size", pa.int64()),
        ("rows", pa.int64()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("stats", pa.string()),
        ("written", pa.int64()),
    ]
)


class Target(NamedTuple):
    """A table as its writers know it: what it is called, where it is, the column that cuts it."""

    name: str
    path: str
    cut: str  # empty for none


def write(frame: DataFrame, target: Target) -> list[NewFile]:
    """All rows of the frame. The frame has the column that cuts the table, a text."""
    return run(frame, lambda batches: ([(target, table)] for table in chunks(batches)))


def run(
    frame: DataFrame,
    make: Callable[[Iterable[pa.RecordBatch]], Iterator[list[tuple[Target, pa.Table]]]],
) -> list[NewFile]:
    """`make` says, on the executors, which rows go to which tables."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for tables in make(batches):
            made = [file for target, rows in tables for file in write_rows(rows, target)]
            yield from table_of(made, FILES).to_batches()

    rows = frame.mapInArrow(work, from_arrow_schema(FILES)).collect()
    return [NewFile(*row) for row in rows]


def hour_of(time: datetime) -> str:
    return time.strftime(_HOUR_FORM)


def with_hours(rows: pa.Table) -> pa.Table:
    """With the same as a column, for a table of Arrow with a `time`."""
    floors = (
        pc.floor_temporal(rows.column("time"), unit="hour").combine_chunks().dictionary_encode()
    )
    texts = pa.array([hour_of(one) for one in floors.dictionary.to_pylist()], pa.string())
    return rows.append_column(HOUR, texts.take(floors.indices))


def schema_of(frame: DataFrame) -> pa.Schema:
    """As executors see its rows; older files may lack any column, so each may be null."""
    schema = to_arrow_schema(frame.schema, timezone="UTC")
    return pa.schema([field.with_nullable(True) for field in schema])


def chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The same rows in larger pieces."""
    gathered: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        gathered.append(batch)
        size += batch.nbytes
        if size >= CHUNK_BYTES:
            yield pa.Table.from_batches(gathered)
            gathered, size = [], 0
    if gathered:
        yield pa.Table.from_batches(gathered)


def write_rows(rows: pa.Table, target: Target) -> list[NewFile]:
    """One file for each part that the rows belong to."""
    if not rows.num_rows:
        return []
    files, root = opened(target.path)
    made: list[NewFile] = []
    cut = pa.schema([(target.cut, pa.string())] if target.cut else [])
    ds.write_dataset(
        rows,
        root,
        filesystem=files,
        format="parquet",
        file_options=ds.ParquetFileFormat().make_write_options(
            compression="zstd", coerce_timestamps="us"
        ),
        partitioning=ds.partitioning(cut, flavor="hive") if target.cut else None,
        basename_template=f"{uuid.uuid4().hex}-{{i}}.parquet",
        existing_data_behavior="overwrite_or_ignore",
        create_dir=is_local(target.path),
        max_rows_per_group=ROWS_PER_GROUP,
        use_threads=False,  # rows stay in their order
        file_visitor=lambda file: made.append(_described(file, target, root)),
    )
    return made


def table_of(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    """Of rows of values in the order of the columns."""
    columns = zip(*rows, strict=True) if rows else [[] for _ in schema]
    arrays = [
        pa.array(list(values), field.type) for values, field in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _described(file: Any, target: Target, root: str) -> NewFile:
    footer = file.metadata
    path = file.path.removeprefix(root).lstrip("/")
    part = path.partition("/")[0].partition("=")[2] if target.cut else ""
    least, greatest, nulls = _extremes(footer)
    first, last = (values.get("time") for values in (least, greatest))
    stats = {
        "numRecords": footer.num_rows,
        "minValues": {name: _json(value) for name, value in least.items()},
        "maxValues": {name: _json(value) for name, value in greatest.items()},
        "nullCount": nulls,
    }
    return NewFile(
        target.name,
        path,
        part,
        file.size,
        footer.num_rows,
        _micros(first),
        _micros(last),
        json.dumps(stats),
        int(time.time() * 1000),
    )


def _extremes(footer: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, int]]:
    """By column, where all row groups tell."""
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    groups = [footer.row_group(at) for at in range(footer.num_row_groups)]
    for at in range(footer.num_columns):
        name = footer.schema.column(at).path
        if name not in _STATED:
            continue
        told = [group.column(at).statistics for group in groups]
        if not all(one is not None and one.has_min_max for one in told):
            continue
        low, high = min(one.min for one in told), max(one.max for one in told)
        if isinstance(low, str) and len(low) + len(high) > _LONGEST_STATED:
            continue
        least[name], greatest[name] = low, high
        nulls[name] = sum(one.null_count for one in told)
    return least, greatest, nulls


def _json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return value


def _micros(value: Any) -> int | None:
    return int(pa.scalar(value, pa.timestamp("us", "UTC")).value) if value is not None else None


def read_file(
    system: Any, path: str, schema: pa.Schema, cut: str, part: str
) -> Iterator[pa.RecordBatch]:
    """Its rows in the columns of the schema; `cut` is not in the file."""
    within = pa.schema([field for field in schema if field.name != cut])
    for batch in ds.dataset(path, schema=within, filesystem=system).to_batches():
        columns = [
            pa.array([part], pa.string()).take(pa.array([0] * batch.num_rows, pa.int64()))
            if field.name == cut
            else batch.column(field.name)
            for field in schema
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
