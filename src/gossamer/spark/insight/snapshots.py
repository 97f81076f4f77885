"""What the admin APIs tell, kept in the lake: who is there, who wants what, what links carried."""

import logging
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from gossamer.broker.mesh_port import BRIDGE_PREFIX, PEER_PREFIX
from gossamer.net.admin.client import AdminError, AdminUnreachable
from gossamer.spark.lake.files import BATCH, DATE, table_of
from gossamer.spark.lake.tables import LakeTable, hours_between
from gossamer.spark.pipelines.pipeline import PAGE, AdminAccess, PipelineError

logger = logging.getLogger(__name__)

_NEIGHBOURS: Final = (PEER_PREFIX, BRIDGE_PREFIX)  # how the sessions of other brokers begin
# Clients come and go within minutes; a snapshot has a row for each of their subscriptions.
PAUSE_SECONDS: Final = 300.0

_WHO: Final = [("broker", pa.string())]
SNAPSHOTS: Final = {
    "sessions": pa.schema(
        [*_WHO, ("client", pa.string()), ("connected", pa.bool_()), ("queued", pa.int64())]
    ),
    "subscriptions": pa.schema(
        [*_WHO, ("client", pa.string()), ("filter", pa.string()), ("qos", pa.int32())]
    ),
    "links": pa.schema(
        [
            *_WHO,
            ("neighbour", pa.string()),
            ("mode", pa.string()),
            ("connected", pa.bool_()),
            ("messages_sent", pa.int64()),
            ("bytes_sent", pa.int64()),
            ("control_bytes_sent", pa.int64()),
        ]
    ),
}
# Of what a listing tells of a client, the columns of its table.
_LISTED: Final = {"sessions": ("connected", "queued"), "subscriptions": ("filter", "qos")}

Rows = dict[str, list[tuple[Any, ...]]]  # of each table


class Snapshots:
    """`admins` has an admin API for each broker, in the same order."""

    def __init__(
        self,
        tables: Mapping[str, LakeTable],
        brokers: Sequence[str],
        admins: Sequence[AdminAccess],
    ) -> None:
        self._tables = tables
        self._brokers = brokers
        self._admins = admins
        self._taken_at: float | None = None
        self.silent: list[str] = []  # brokers that did not answer the last time

    def take(self, batch: int) -> None:
        """Unless the last one is recent."""
        now = time.monotonic()
        if self._taken_at is not None and now < self._taken_at + PAUSE_SECONDS:
            return
        found = self._ask_all()
        date = datetime.now(UTC).date().isoformat()
        for name, schema in SNAPSHOTS.items():
            rows = table_of(found[name], schema)
            dates = pa.repeat(pa.scalar(date), rows.num_rows)
            self._tables[name].append_rows(rows.append_column(DATE, dates), batch)
        self._taken_at = now

    def read(self, spark: SparkSession, name: str, since: datetime) -> DataFrame:
        """All from that day on."""
        dates = {hour.partition("T")[0] for hour in hours_between(since, datetime.now(UTC))}
        found = self._tables[name].read(spark, dates)
        if found is None:
            return spark.createDataFrame(
                [], from_arrow_schema(pa.schema([*SNAPSHOTS[name], (BATCH, pa.int32())]))
            )
        return found.drop(DATE)

    def _ask_all(self) -> Rows:
        """Raises PipelineError for a wrong token."""
        rows: Rows = {name: [] for name in SNAPSHOTS}
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
