"""What is hot, what nobody reads, what links carry, and which client should be elsewhere.

insight/traffic                     messages and bytes by hour, broker, topic, publisher
insight/sessions, subscriptions,    what the admin APIs told with each batch
insight/links
insight/topics, filters, unread,    the answers, over the last hours that traffic covers
insight/link_loads, placement
insight/report.md                   what to do about it
"""

from datetime import datetime
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from gossamer.spark.insight import report, traffic
from gossamer.spark.insight.placement import Advice, Placement, Routes
from gossamer.spark.insight.snapshots import SNAPSHOTS, Snapshots
from gossamer.spark.lake.files import DATE, HOUR
from gossamer.spark.lake.folders import joined, write_text
from gossamer.spark.lake.tables import LakeTable, Upkeep, hours_between, span
from gossamer.spark.pipelines.pipeline import Pipeline, PipelineError, PipelineSettings
from gossamer.spark.source.archives import SourceError, find_replays
from gossamer.spark.source.source_options import SourceOptions, read_source_options

FLOODING: Final = "pf"
_PLACEMENT: Final = "client string, broker string, better string, saves long"


# Their names, and the columns that cut them into parts.
TABLES: Final = {
    "insight/traffic": HOUR,
    **{f"insight/{name}": DATE for name in SNAPSHOTS},
    **{
        f"insight/{name}": "" for name in ("topics", "filters", "unread", "link_loads", "placement")
    },
}


class InsightPipeline:
    def __init__(self, spark: SparkSession, settings: PipelineSettings) -> None:
        self._window = settings.window
        self._root = joined(settings.lake, "insight")
        self._brokers = _names(settings)
        self._tables = {
            name.removeprefix("insight/"): LakeTable(settings.lake, name, cut, settings.history)
            for name, cut in TABLES.items()
        }
        self._traffic = self._tables["traffic"]
        self._upkeep = Upkeep(self._tables.values(), settings.compacts)
        self._snapshots = Snapshots(self._tables, self._brokers, settings.admins)
        self._newest: datetime | None = None
        self._report = ""

    def take(self, frame: DataFrame, batch: int) -> None:
        spark = frame.sparkSession
        self._upkeep.now_and_then(self._newest)
        files = self._traffic.write_batch(traffic.counted(frame), batch)
        self._snapshots.take(batch)
        newest = span(files)[1]
        if newest is not None:
            self._newest = max(newest, self._newest or newest)
            self._report = report.write(self._find(spark, self._newest))
            write_text(joined(self._root, "report.md"), self._report)

    def summary(self) -> list[str]:
        if not self._report:
            return [f"nothing new was published; the last report is {self._root}/report.md"]
        return [*self._report.splitlines(), "", f"tables and this report: {self._root}"]

    def _find(self, spark: SparkSession, end: datetime) -> report.Findings:
        start = end - self._window
        rows = self._traffic.read(spark, hours_between(start, end))
        assert rows is not None
        subscriptions = self._snapshots.read(spark, "subscriptions", start)
        numbers = sorted({row["filter"] for row in subscriptions.select("filter").collect()})
        numbered = spark.createDataFrame(list(enumerate(numbers)), "number int, filter string")
        wanted = subscriptions.join(F.broadcast(numbered), "filter").persist()
        flows = traffic.flows(rows, numbers).persist()
        links = traffic.link_loads(self._snapshots.read(spark, "links", start)).persist()
        sessions = self._snapshots.read(spark, "sessions", start)
        try:
            advice = self._advise(flows, traffic.latest(wanted), sessions, links, len(numbers))
            return self._write(flows, wanted, links, advice, start, end)
        finally:
            for frame in (wanted, flows, links):
                frame.unpersist()

    def _advise(
        self, flows: DataFrame, wanted: DataFrame, sessions: DataFrame, links: DataFrame, count: int
    ) -> Advice:
        clients: list[set[str]] = [set() for _ in range(count)]
        for row in wanted.select("number", "client").collect():
            clients[row["number"]].add(row["client"])
        present = traffic.latest(sessions).where("connected").select("client", "broker").collect()
        homes = {row["client"]: row["broker"] for row in present}
        routes = Routes((row["broker"], row["neighbour"]) for row in links.collect())
        found = traffic.collect_flows(flows, [frozenset(one) for one in clients])
        return Placement(found, homes, routes).advise(self._brokers)

    def _write(
        self,
        flows: DataFrame,
        wanted: DataFrame,
        links: DataFrame,
        advice: Advice,
        start: datetime,
        end: datetime,
    ) -> report.Findings:
        spark = flows.sparkSession
        topics = self._save("topics", traffic.topics(flows, wanted).orderBy(F.desc("bytes")))
        filters = self._save(
            "filters", traffic.filters(flows, wanted).orderBy(F.desc("deliveries"))
        )
        unread = self._save("unread", topics.where("readers = 0").orderBy(F.desc("bytes")))
        loads = self._save("link_loads", links.orderBy(F.desc("bytes")))
        self._save("placement", traffic.frame_of(spark, advice.moves, _PLACEMENT))
        total = topics.selectExpr("sum(messages)", "sum(bytes)").collect()[0]
        lost = unread.selectExpr("count(*)", "sum(messages)", "sum(bytes)").collect()[0]
        carried = [row.asDict() for row in loads.orderBy(F.desc("bytes")).collect()]
        idle = filters.where("messages = 0").orderBy("filter").select("filter").collect()
        return report.Findings(
            start=start,
            end=end,
            messages=total[0],
            size=total[1],
            topics=_first(topics, "bytes", "topic"),
            filters=_first(filters.where("messages > 0"), "deliveries", "filter"),
            unread=_first(unread, "bytes", "topic"),
            unread_topics=lost[0],
            unread_messages=lost[1] or 0,
            unread_size=lost[2] or 0,
            idle=[row["filter"] for row in idle],
            links=carried[: report.MOST_LINES],
            advice=advice,
            floods=any(row["mode"] == FLOODING for row in carried),
            silent=self._snapshots.silent,
        )

    def _save(self, name: str, frame: DataFrame) -> DataFrame:
        """Answers are written anew each time, and read back: they are small by now."""
        table = self._tables[name]
        table.replace(frame.coalesce(1))
        saved = table.read(frame.sparkSession)
        assert saved is not None
        return saved


def _first(frame: DataFrame, most: str, name: str) -> list[report.Row]:
    """The rows that the report shows: those with most of a column first."""
    rows = frame.orderBy(F.desc(most), name).take(report.MOST_LINES)
    return [row.asDict() for row in rows]


def _names(settings: PipelineSettings) -> list[str]:
    """The brokers by the names that their archives have, in the order of their addresses."""
    asked = _asked(settings)
    try:
        return list(find_replays(asked))
    except SourceError as problem:
        raise PipelineError(str(problem)) from problem


def _asked(settings: PipelineSettings) -> SourceOptions:
    """With an admin API for each broker."""
    try:
        asked = read_source_options(settings.source_options())
    except ValueError as problem:
        raise PipelineError(str(problem)) from None
    if len(settings.admins) != len(asked.addresses):
        raise PipelineError(
            f"there are {len(asked.addresses)} --brokers and {len(settings.admins)} --admin: name "
            "the admin API of each broker, in the same order"
        )
    return asked


INSIGHT: Final = Pipeline(
    "insight",
    "what is hot, what nobody reads, what links carry, and which client should be elsewhere",
    ("broker", "time", "topic", "payload", "publisher"),
    InsightPipeline,
    _asked,
)
