"""What a reader of archives was asked for, checked before anything is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from gossamer.archive.client import DEFAULT_PORT, Address, Credentials
from gossamer.archive.schema import projection
from gossamer.plus.grammar import is_operator_filter
from gossamer.spark import options as parse
from gossamer.spark.source.positions import StartPosition, parse_position
from gossamer.spark.source.sieve import read_rules, reads_of
from gossamer.topics.names import check_filter

NAMES: Final = (
    "brokers",
    "filter",
    "columns",
    "starting",
    "ending",
    "maxRowsPerTrigger",
    "rowsPerPartition",
    "user",
    "password",
    "token",
    "tls",
    "caFile",
    "onDataLoss",
    "retrySeconds",
)

# A task reads so many rows: enough to be worth a connection, little enough to be read again.
ROWS_PER_PARTITION: Final = 500_000
# A broker that restarts is back within this time.
RETRY_SECONDS: Final = 60.0
EVERYTHING: Final[tuple[str, ...]] = ("#",)
FAIL: Final = "fail"
WARN: Final = "warn"


@dataclass(frozen=True)
class SourceSettings:
    addresses: tuple[Address, ...]
    credentials: Credentials
    filters: tuple[str, ...]  # what is asked of the brokers
    rules: tuple[str, ...]  # the filters as given, if one of them has rules to judge rows by
    columns: tuple[str, ...] | None  # None for all
    starting: StartPosition | None  # None: earliest for a history, latest for a stream
    ending: StartPosition | None
    max_rows: int | None
    rows_per_partition: int
    on_data_loss: str
    retry_seconds: float


def read_settings(given: Mapping[str, str]) -> SourceSettings:
    """Raises ValueError."""
    options = parse.known(given, NAMES)
    tls = parse.read(options, "tls", parse.flag, False)
    address = partial(_address, tls=tls, ca_file=options.get("caFile"))
    parse.needed(options, "brokers", "127.0.0.1:1885")
    columns = parse.read(options, "columns", _columns, None)
    filters = parse.read(options, "filter", _filters, EVERYTHING)
    return SourceSettings(
        addresses=parse.read(options, "brokers", lambda text: _addresses(text, address), ()),
        credentials=Credentials(options.get("user"), options.get("password"), options.get("token")),
        filters=reads_of(filters),
        rules=filters if any(map(is_operator_filter, filters)) else (),
        columns=columns,
        starting=parse.read(options, "starting", parse_position, None),
        ending=parse.read(options, "ending", parse_position, None),
        max_rows=parse.read(options, "maxRowsPerTrigger", parse.count, None),
        rows_per_partition=parse.read(options, "rowsPerPartition", parse.count, ROWS_PER_PARTITION),
        on_data_loss=parse.read(options, "onDataLoss", parse.one_of(FAIL, WARN), FAIL),
        retry_seconds=parse.read(options, "retrySeconds", parse.seconds, RETRY_SECONDS),
    )


def _addresses(text: str, address: Callable[[str], Address]) -> tuple[Address, ...]:
    return tuple(address(one) for one in parse.names(text))


def _address(text: str, tls: bool, ca_file: str | None) -> Address:
    host, port = parse.endpoint(text, DEFAULT_PORT)
    return Address(host, port, tls, ca_file)


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


def _columns(text: str) -> tuple[str, ...] | None:
    columns = parse.names(text)
    return tuple(projection(columns).names)
