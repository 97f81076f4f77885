"""What was published, by hour, whom it reached, and the tables that a recommendation is made of."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from gossamer.plus.grammar import is_operator_filter, parse
from gossamer.plus.plan import PlusError
from gossamer.plus.vocabulary import Vocabulary
from gossamer.spark.insight.placement import PublisherFlow
from gossamer.spark.lake.files import BATCH, HOUR
from gossamer.spark.lake.tables import cut_of
from gossamer.topics.filter_tree import FilterTree, TreeEntry
from gossamer.topics.names import TopicError, split_share

# Those that carry most; the rest is too little to move a client for.
MOST_FLOWS: Final = 200_000

_FIELDS: Final = [
    ("broker", pa.string()),
    ("topic", pa.string()),
    ("publisher", pa.string()),
    ("messages", pa.int64()),
    ("bytes", pa.int64()),
]
_MATCHED: Final = pa.schema([*_FIELDS, ("filters", pa.list_(pa.int32()))])


class _Wanted(TreeEntry):
    def __init__(self, filter: str) -> None:
        super().__init__(filter)
        self.numbers: list[int] = []  # of the subscriptions that read this filter


class Interests:
    """Which subscriptions a topic reaches: the broker's own tree, on any machine."""

    def __init__(self, filters: Sequence[str]) -> None:
        self._tree = FilterTree()
        for number, filter in enumerate(filters):
            for plain in reads(filter):
                entry = self._tree.get(plain)
                if entry is None:
                    entry = _Wanted(plain)
                    self._tree.put(entry)
                assert isinstance(entry, _Wanted)
                entry.numbers.append(number)

    def of(self, topic: str) -> list[int]:
        """The numbers of the filters that it reaches, in order."""
        found: set[int] = set()
        for entry in self._tree.match(topic):
            assert isinstance(entry, _Wanted)
            found.update(entry.numbers)
        return sorted(found)


def reads(filter: str) -> tuple[str, ...]:
    """The plain filters of a subscription, shared or computing as it may be."""
    try:
        plain = split_share(filter)[1]
    except TopicError:
        return (filter,)
    if not is_operator_filter(plain):
        return (plain,)
    try:
        return parse(plain, Vocabulary()).reads
    except PlusError:
        # An operator that only that broker knows; what it reads stands behind it all the same.
        return (plain.partition("/")[2],)


def counted(messages: DataFrame) -> DataFrame:
    """Messages and bytes of each broker, topic and publisher, in each hour."""
    hour = cut_of(F.col("time"), HOUR).alias(HOUR)
    return messages.groupBy(hour, "broker", "topic", "publisher").agg(
        F.count("*").alias("messages"),
        F.sum(F.octet_length("payload")).cast("bigint").alias("bytes"),
        F.max("time").alias("time"),
    )


def flows(traffic: DataFrame, filters: Sequence[str]) -> DataFrame:
    """Over all hours, with the numbers of the filters that each topic reaches."""
    summed = traffic.groupBy("broker", "topic", "publisher").agg(
        F.sum("messages").alias("messages"), F.sum("bytes").alias("bytes")
    )
    listed = tuple(filters)

    def match(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        interests = Interests(listed)
        for batch in batches:
            found = [interests.of(topic) for topic in batch.column("topic").to_pylist()]
            matched = pa.array(found, pa.list_(pa.int32()))
            yield pa.RecordBatch.from_arrays([*batch.columns, matched], schema=_MATCHED)

    return summed.mapInArrow(match, from_arrow_schema(_MATCHED))


def topics(flows: DataFrame, wanted: DataFrame) -> DataFrame:
    """`wanted` has `number` (of a filter) and `client`."""
    reached = flows.select("topic", F.explode("filters").alias("number")).distinct()
    readers = reached.join(F.broadcast(wanted), "number").groupBy("topic")
    counted = readers.agg(F.countDistinct("client").alias("readers"))
    summed = flows.groupBy("topic").agg(
        F.sum("messages").alias("messages"),
        F.sum("bytes").alias("bytes"),
        F.countDistinct("publisher").alias("publishers"),
    )
    joined = summed.join(counted, "topic", "left").fillna(0, ["readers"])
    return joined.select("topic", "messages", "bytes", "publishers", "readers")


def filters(flows: DataFrame, wanted: DataFrame) -> DataFrame:
    """Filters that nothing was published for have 0 messages."""
    carried = flows.select(F.explode("filters").alias("number"), "messages", "bytes")
    carried = carried.groupBy("number").agg(
        F.sum("messages").alias("messages"), F.sum("bytes").alias("bytes")
    )
    subscribed = wanted.groupBy("number", "filter").agg(
        F.countDistinct("client").alias("subscribers")
    )
    joined = subscribed.join(carried, "number", "left").fillna(0, ["messages", "bytes"])
    deliveries = (F.col("messages") * F.col("subscribers")).alias("deliveries")
    return joined.select("filter", "subscribers", "messages", "bytes", deliveries)


def link_loads(links: DataFrame) -> DataFrame:
    """What links sent between the first and the last snapshot; in one only, since their start.

    A counter that is lower than before has started anew, with its broker.
    """
    line = Window.partitionBy("broker", "neighbour").orderBy(BATCH)
    names = ("messages_sent", "bytes_sent", "control_bytes_sent")
    grown = links.withColumns({f"_{name}": _growth(name, line) for name in names})
    sums = {name: F.coalesce(F.sum(f"_{name}"), F.max(name)).alias(name) for name in names}
    groups = grown.groupBy("broker", "neighbour").agg(
        *sums.values(), F.max_by("mode", BATCH).alias("mode")
    )
    carried = F.col("bytes_sent").alias("bytes")
    control = F.col("control_bytes_sent").alias("control_bytes")
    messages = F.col("messages_sent").alias("messages")
    return groups.select("broker", "neighbour", "mode", messages, carried, control)


def _growth(name: str, line: Any) -> Any:
    before = F.lag(name).over(line)
    return F.when(F.col(name) >= before, F.col(name) - before).when(
        F.col(name) < before, F.col(name)
    )


def latest(snapshots: DataFrame) -> DataFrame:
    """Of each broker, the last one: it may not have answered since."""
    last = Window.partitionBy("broker")
    marked = snapshots.withColumn("_last", F.max(BATCH).over(last))
    return marked.where(F.col(BATCH) == F.col("_last")).drop("_last")


def collect_flows(flows: DataFrame, clients: Sequence[frozenset[str]]) -> list[PublisherFlow]:
    """`clients` want the filter of that number. Flows of the same way are one."""
    most = flows.where(F.size("filters") > 0).orderBy(F.desc("bytes")).limit(MOST_FLOWS)
    found: dict[tuple[str, str, frozenset[str]], int] = {}
    for row in most.collect():
        readers = frozenset[str]().union(*(clients[number] for number in row["filters"]))
        way = (row["publisher"] or "", row["broker"], readers)
        found[way] = found.get(way, 0) + row["bytes"]
    return [PublisherFlow(way[0], way[1], size, way[2]) for way, size in found.items()]


def frame_of(spark: SparkSession, rows: Iterable[tuple[Any, ...]], schema: str) -> DataFrame:
    return spark.createDataFrame(list(rows), schema).coalesce(1)
