"""What the admin APIs tell, kept in the lake: who is there, who wants what, what links carried."""

import logging
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from gossamer.broker.mesh_port import BRIDGE_PREFIX, PEER_PREFIX
from gossamer.net.admin.client import AdminError, AdminUnreachable
from gossamer.spark.insight.traffic import frame_of
from gossamer.spark.lake.tables import BATCH, DATE, LakeTable, hours_between
from gossamer.spark.pipelines.pipeline import PAGE, AdminAccess, PipelineError

logger = logging.getLogger(__name__)

_NEIGHBOURS: Final = (PEER_PREFIX, BRIDGE_PREFIX)  # how the sessions of other brokers begin
# Clients come and go within minutes; a snapshot has a row for each of their subscriptions.
PAUSE_SECONDS: Final = 300.0

_SCHEMAS: Final = {
    "sessions": "broker string, client string, connected boolean, queued long",
    "subscriptions": "broker string, client string, filter string, qos int",
    "links": "broker string, neighbour string, mode string, connected boolean, "
    "messages_sent long, bytes_sent long, control_bytes_sent long",
}
# Of what a listing tells of a client, the columns of its table.
_LISTED: Final = {"sessions": ("connected", "queued"), "subscriptions": ("filter", "qos")}

Rows = dict[str, list[tuple[Any, ...]]]  # of each table


class Snapshots:
    """`admins` has an admin API for each broker, in the same order."""

    def __init__(self, root: str, brokers: Sequence[str], admins: Sequence[AdminAccess]) -> None:
        self._brokers = brokers
        self._admins = admins
        self._tables = {name: LakeTable(root, name, DATE, BATCH) for name in _SCHEMAS}
        self._taken_at: float | None = None
        self.silent: list[str] = []  # brokers that did not answer the last time

    def take(self, spark: SparkSession, batch: int) -> None:
        """Unless the last one is recent."""
        now = time.monotonic()
        if self._taken_at is not None and now < self._taken_at + PAUSE_SECONDS:
            return
        rows = self._ask_all()
        date = F.lit(datetime.now(UTC).date().isoformat()).alias(DATE)
        for name, table in self._tables.items():
            frame = frame_of(spark, rows[name], _SCHEMAS[name])
            table.write_batch(frame.select("*", date), batch)
        self._taken_at = now

    def read(self, spark: SparkSession, name: str, since: datetime) -> DataFrame:
        """All from that day on."""
        dates = {hour.date for hour in hours_between(since, datetime.now(UTC))}
        found = self._tables[name].read_parts(spark, [f"{DATE}={date}" for date in sorted(dates)])
        if found is None:
            return spark.createDataFrame([], f"{_SCHEMAS[name]}, {BATCH} int")
        return found.drop(DATE)

    def _ask_all(self) -> Rows:
        """Raises PipelineError for a wrong token."""
        rows: Rows = {name: [] for name in _SCHEMAS}
        names: dict[str, str] = {}  # in the mesh → in the archive
        self.silent = []
        for broker, admin in zip(self._brokers, self._admins, strict=True):
            try:
                _ask(admin, broker, names, rows)
            except AdminUnreachable as problem:
                logger.warning("cannot reach the admin API of %s: %s", broker, problem)
                self.silent.append(broker)
            except AdminError as problem:
                raise PipelineError(f"the admin API of {broker}: {problem}") from problem
        rows["links"] = [
            (link[0], names.get(link[1], link[1]), *link[2:]) for link in rows["links"]
        ]
        return rows


def _ask(admin: AdminAccess, broker: str, names: dict[str, str], rows: Rows) -> None:
    for table, columns in _LISTED.items():
        for one in admin.pages(f"/v1/{table}"):
            if not one["client_id"].startswith(_NEIGHBOURS):
                rows[table].append((broker, one["client_id"], *(one[name] for name in columns)))
    try:
        mesh = admin.client().call("GET", "/v1/mesh", {"limit": PAGE})
    except AdminUnreachable:
        raise
    except AdminError:
        return  # it stands alone
    names[mesh["name"]] = broker
    for one in mesh["entries"]:
        counts = (one["messages_sent"], one["bytes_sent"], one["control_bytes_sent"])
        rows["links"].append((broker, one["neighbour"], mesh["mode"], one["connected"], *counts))
