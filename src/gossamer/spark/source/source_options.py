"""What a reader of archives was asked for, checked before anything is read.

Where to begin and end is an end of the archive, offsets by broker, or a time.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gossamer.archive.client import DEFAULT_PORT, Address, Credentials
from gossamer.archive.schema import projection
from gossamer.archive.segment_files import AUTO, NEVER
from gossamer.plus.grammar import is_operator_filter
from gossamer.plus.publication import read_time
from gossamer.spark import options as parse
from gossamer.spark.source.filter_rules import read_rules, reads_of
from gossamer.topics.names import check_filter

# A task reads so many rows: enough to be worth a connection, little enough to be read again.
ROWS_PER_PARTITION: Final = 500_000
# A broker that restarts is back within this time.
RETRY_SECONDS: Final = 60.0
EVERYTHING: Final[tuple[str, ...]] = ("#",)
FAIL: Final = "fail"
WARN: Final = "warn"
EARLIEST: Final = "earliest"
LATEST: Final = "latest"


@dataclass(frozen=True)
class Position:
    """Exactly one of them is set."""

    end: str = ""  # EARLIEST or LATEST
    offsets: tuple[tuple[str, int], ...] = ()  # by broker
    micros: int | None = None


@dataclass(frozen=True)
class SourceOptions:
    addresses: tuple[Address, ...]
    credentials: Credentials
    filters: tuple[str, ...]  # what is asked of the brokers
    rules: tuple[str, ...]  # the filters as given, if one of them has rules to judge rows by
    columns: tuple[str, ...] | None  # None for all
    starting: Position | None  # None: earliest for a history, latest for a stream
    ending: Position | None
    max_rows: int | None
    max_bytes: int | None
    rows_per_partition: int
    files: str  # AUTO, NEVER, or below which folder or URI the brokers' folders are
    on_data_loss: str
    retry_seconds: float


def _endpoints(text: str) -> list[tuple[str, int]]:
    return [parse.endpoint(one, DEFAULT_PORT) for one in parse.names(text)]


def _filters(text: str) -> tuple[str, ...]:
    """One a line: commas and spaces may be part of a topic."""
    filters = tuple(filter for filter in text.splitlines() if filter)
    for filter in filters:
        check_filter(filter)
        if is_operator_filter(filter):
            read_rules(filter)
    if not filters:
        raise ValueError("is empty; '#' reads everything")
    return filters


def _columns(text: str) -> tuple[str, ...]:
    return tuple(projection(parse.names(text)).names)


def _position(text: str) -> Position:
    if text.lower() in (EARLIEST, LATEST):
        return Position(end=text.lower())
    if text.lstrip().startswith("{"):
        return Position(offsets=_offsets(text))
    try:
        return Position(micros=max(0, round(read_time(text) * 1e6)))
    except ValueError:
        raise ValueError(
            f"{text[:60]!r} is none of {EARLIEST}, {LATEST}, a JSON map from broker to offset, "
            "and an RFC 3339 time such as 2031-05-24T15:36:25Z"
        ) from None


def _offsets(text: str) -> tuple[tuple[str, int], ...]:
    try:
        found: object = json.loads(text)
    except ValueError as problem:
        raise ValueError(f"the map of offsets is not JSON: {problem}") from None
    if not isinstance(found, dict) or not found:
        raise ValueError("the map of offsets is empty")
    for broker, offset in found.items():
        if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
            raise ValueError(f"the offset of {broker} is not a whole number from 0")
    return tuple(found.items())


def _files(text: str) -> str:
    if text.lower() in (AUTO, NEVER):
        return text.lower()
    if "://" not in text and not text.startswith("/"):
        raise ValueError(f"{text!r} is none of {AUTO}, {NEVER}, an absolute path and a URI")
    # Hadoop's name for S3, which nobody else knows it by.
    return f"s3://{text.removeprefix('s3a://')}" if text.startswith("s3a://") else text


OPTIONS: Final[dict[str, Callable[[str], Any]]] = {
    "brokers": _endpoints,
    "filter": _filters,
    "columns": _columns,
    "starting": _position,
    "ending": _position,
    "maxRowsPerTrigger": parse.count,
    "maxBytesPerTrigger": parse.size,
    "rowsPerPartition": parse.count,
    "user": str,
    "password": str,
    "token": str,
    "tls": parse.flag,
    "caFile": str,
    "files": _files,
    "onDataLoss": parse.one_of(FAIL, WARN),
    "retrySeconds": parse.seconds,
}


def read_source_options(given: Mapping[str, str]) -> SourceOptions:
    """Raises ValueError."""
    options = parse.read(given, OPTIONS)
    parse.check_given(options, "brokers", "127.0.0.1:1885")
    filters = options.get("filter", EVERYTHING)
    tls, authority = options.get("tls", False), options.get("caFile")
    return SourceOptions(
        addresses=tuple(Address(host, port, tls, authority) for host, port in options["brokers"]),
        credentials=Credentials(options.get("user"), options.get("password"), options.get("token")),
        filters=reads_of(filters),
        rules=filters if any(map(is_operator_filter, filters)) else (),
        columns=options.get("columns"),
        starting=options.get("starting"),
        ending=options.get("ending"),
        max_rows=options.get("maxRowsPerTrigger"),
        max_bytes=options.get("maxBytesPerTrigger"),
        rows_per_partition=options.get("rowsPerPartition", ROWS_PER_PARTITION),
        files=options.get("files", AUTO),
        on_data_loss=options.get("onDataLoss", FAIL),
        retry_seconds=options.get("retrySeconds", RETRY_SECONDS),
    )
