"""What a pipeline is: a name, a summary, and the work that takes one batch after another."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, NamedTuple, Protocol

from pyspark.sql import DataFrame, SparkSession

from gossamer.net.admin.client import AdminClient

# Readings that are later than this correct windows that were called final.
LATENESS: Final = timedelta(hours=1)
# How long earlier versions of tables can be read; each batch replaces files of gold.
HISTORY: Final = timedelta(hours=1)
# A day has its nights in it; older habits say little about tomorrow.
WINDOW: Final = timedelta(hours=24)
# Between two batches; each rewrites the hours that it touches, so more often costs more.
EVERY_SECONDS: Final = 30.0
PAGE: Final = 1_000  # the most that the admin API lists at once


class PipelineError(Exception):
    """It cannot run; the text says why and what to do."""


class AdminAccess(NamedTuple):
    """The admin API of one broker."""

    host: str
    port: int
    token: str

    def client(self) -> AdminClient:
        return AdminClient(self.host, self.port, self.token)

    def pages(self, path: str) -> Iterator[dict[str, Any]]:
        """The entries of a listing. Raises AdminError."""
        client, offset, total = self.client(), 0, 1
        while offset < total:
            page = client.call("GET", path, {"limit": PAGE, "offset": offset})
            yield from page["entries"]
            offset, total = offset + PAGE, page["total"]


@dataclass(frozen=True)
class PipelineSettings:
    brokers: str  # as the option of the source
    lake: str  # a folder, or an address in an object store
    filter: str = "#"
    starting: str = "earliest"
    source: Mapping[str, str] = field(default_factory=dict)  # more options of the source
    is_once: bool = False  # read what is there and end
    every: float = EVERY_SECONDS
    lateness: timedelta = LATENESS
    event_field: str = ""  # of JSON payloads, with their time; empty for the time received
    window: timedelta = WINDOW  # of traffic that a recommendation is about
    compacts: bool = True  # puts small files together
    history: timedelta = HISTORY
    keeps_messages: bool = True  # a copy of them, beside what is read of them
    checkpoints: str = ""  # a folder that Spark can write to; empty for one within the lake
    fences: str = ""  # a GeoJSON file
    admins: tuple[AdminAccess, ...] = ()

    def source_options(self) -> dict[str, str]:
        """Of the format `gossamer`."""
        return {
            **self.source,
            "brokers": self.brokers,
            "filter": self.filter,
            "starting": self.starting,
        }


class Work(Protocol):
    """One run of a pipeline."""

    def take(self, frame: DataFrame, batch: int) -> None:
        """Writes a batch; again, if the first attempt was interrupted, without a trace of it."""

    def summary(self) -> list[str]:
        """What a person may want to know at the end, a line each."""


@dataclass(frozen=True)
class Pipeline:
    name: str
    says: str
    columns: tuple[str, ...]  # of the source; none for all
    open: Callable[[SparkSession, PipelineSettings], Work]
    # What its own settings are wrong in, as far as that can be told without Spark.
    check: Callable[[PipelineSettings], object]
