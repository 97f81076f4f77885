"""`subscribe`: an MQTT+ subscription as a DataFrame, over a history or over a stream."""

from collections.abc import Iterable, Mapping
from typing import Final

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from gossamer.plus.grammar import is_operator_filter, parse, read_options, settled
from gossamer.plus.operators.kinds import Options, ProcessorKind
from gossamer.plus.operators.plus_reply import PLUS_REPLY
from gossamer.plus.operators.windows import Window
from gossamer.plus.plan import OperatorPlan, PlusError, RuleNode
from gossamer.plus.publication import IMPLICIT_TTL
from gossamer.plus.registry import DEFAULT_WINDOWS
from gossamer.plus.rules import PASSES
from gossamer.plus.time_zones import zone_of
from gossamer.plus.vocabulary import Vocabulary
from gossamer.spark.compiler.aggregation import temporal_results
from gossamer.spark.compiler.encodings import decoded, original
from gossamer.spark.compiler.expressions import verdict
from gossamer.spark.compiler.payloads import read
from gossamer.spark.compiler.sequences import followed
from gossamer.spark.compiler.spatial_history import spatial_results
from gossamer.spark.compiler.spatial_stream import streamed_spatial_results
from gossamer.spark.compiler.topics import address, fits, matches
from gossamer.spark.compiler.windows import WINDOW_TIME, with_window_time
from gossamer.spark.data_source import register
from gossamer.spark.fences.areas import Area
from gossamer.spark.fences.fence import OUTSIDE, fenced, marked
from gossamer.spark.image_processing import Processor, known_processors, processed
from gossamer.topics.names import check_filter
from gossamer.vision.settings import WorkerSettings

# How late a message of a stream may come and still count in its window.
WATERMARK: Final = "1 minute"

# What is read of a frame; columns that it does not have are taken as absent in every message.
NEEDED: Final = ("topic", "payload", "time")
OPTIONAL: Final = {
    "broker": "string",
    "offset": "bigint",
    "expiry": "bigint",
    "user_properties": "map<string,string>",
    "lat": "double",
    "lon": "double",
    "glp": "string",
    "content_type": "string",
}


def subscribe(
    spark: SparkSession,
    filter: str,
    source: DataFrame | None = None,
    *,
    reply: str = "skr",
    ttl: float = IMPLICIT_TTL,
    watermark: str = WATERMARK,
    windows: Iterable[Window] = (),
    timezone: str = "UTC",
    processors: Mapping[str, Processor] | None = None,
    vision: WorkerSettings | None = None,
    skipped: str | Observation | None = None,
    stream: bool = False,
    ticks: bool = False,
    geo_area: Area | None = None,
    payloads: Mapping[str, str] | None = None,
    **options: str,
) -> DataFrame:
    """What the broker would send to this subscription, as rows of time, topic, payload and value.

    `source` has messages. Without one, `options` are those of the format "gossamer", and `stream`
    says whether to follow the archives or to read what they have. With `ticks`, windows of a stream
    end by the clock, though nothing is published. The windows that are always there are those of
    `timezone`, others have their own. `geo_area` is the GLP or GeoJSON
    that a client would subscribe with. `payloads` are the broker's `plus.payloads`. Raises
    PlusError, TopicError, GlpError.
    """
    check_filter(filter)
    plan = None
    if is_operator_filter(filter):
        plan = parse(filter, _vocabulary(windows, timezone, processors))
    reads = plan.reads if plan is not None else (filter,)
    if source is None:
        source = _archives(spark, reads, stream, options)
    elif options or stream:
        raise ValueError("give a source, or where to read, not both")
    found = _messages(source).where(matches(reads, F.col("topic")))
    outside: DataFrame | None = None
    if geo_area is not None and plan is not None and _last_values_count(plan):
        found = marked(found, geo_area)
        if plan.processor is not None or plan.before:  # for what is inside only
            outside = found.where(F.col(OUTSIDE))
            found = found.where(~F.col(OUTSIDE)).drop(OUTSIDE)
    elif geo_area is not None:
        found = fenced(found, geo_area)
    if plan is None:
        return _forwarded(found, (), F.col("topic"))
    if payloads:
        if plan.has_steps():
            raise PlusError("sequences are computed in Spark over plain text and JSON only")
        found = decoded(found, payloads)
    if plan.processor is not None:
        found = processed(found, plan.processor.keyword, processors, vision, skipped)
    if plan.before:
        found = _messages(followed(found, plan, watermark))
    if outside is not None:
        found = found.withColumn(OUTSIDE, F.lit(False)).unionByName(outside)
    settled_options = settled(plan, read_options([(PLUS_REPLY.keyword, reply)]))
    if ticks and plan.temporal is not None and found.isStreaming:
        found = _ticked(found)
    results = _results(found, plan, settled_options, ttl, watermark)
    return _after(results, plan, watermark) if plan.after else results


def _last_values_count(plan: OperatorPlan) -> bool:
    """Whether a topic that publishes outside an area takes part no more: what is outside matters
    then."""
    return plan.spatial is not None and plan.temporal is None


def _after(results: DataFrame, plan: OperatorPlan, watermark: str) -> DataFrame:
    """What the steps around an aggregate make of its results."""
    made = followed(_messages(results), plan, watermark, is_after=True)
    made, payloads = read(made, [None])
    return made.select("time", "topic", "payload", payloads[""].number.alias("value"))


def _vocabulary(
    windows: Iterable[Window], timezone: str, processors: Mapping[str, Processor] | None
) -> Vocabulary:
    kinds = [ProcessorKind(keyword, "", "value") for keyword in known_processors(processors)]
    zone = zone_of(timezone)
    always = [Window(window.keyword, window.seconds, zone) for window in DEFAULT_WINDOWS]
    return Vocabulary((*always, *windows), kinds)


def _archives(
    spark: SparkSession, reads: tuple[str, ...], stream: bool, options: Mapping[str, str]
) -> DataFrame:
    """Brokers send what matches; what comes is checked again, which costs little."""
    register(spark)
    reader = spark.readStream if stream else spark.read
    return reader.format("gossamer").options(**options, filter="\n".join(reads)).load()


def _results(
    found: DataFrame, plan: OperatorPlan, options: Options, ttl: float, watermark: str
) -> DataFrame:
    if plan.temporal is not None:
        found = with_window_time(found, plan.temporal.window)
        if found.isStreaming:
            found = found.withWatermark(WINDOW_TIME, watermark)
        return temporal_results(found, plan, options.names_participants)
    if plan.spatial is not None:
        compile_spatial = streamed_spatial_results if found.isStreaming else spatial_results
        return compile_spatial(found, plan, options.names_participants, ttl)
    return _forwarded(found, plan.outer, address(plan, F.col("topic")))


def _forwarded(frame: DataFrame, rules: tuple[RuleNode, ...], address: Column) -> DataFrame:
    """The messages that pass, as they are; those whose topic would be too long are left out."""
    frame, payloads = read(frame, [None, *(rule.field for rule in rules)])
    passed = frame.where(verdict(rules, payloads) == PASSES)
    topic = address.alias("topic")
    value = payloads[""].number.alias("value")
    payload = original(frame).alias("payload")
    return passed.select("time", topic, payload, value).where(fits(F.col("topic")))


def _messages(frame: DataFrame) -> DataFrame:
    """The frame with exactly the columns of `NEEDED` and `OPTIONAL`; raises ValueError.

    Without offsets, the messages of one time are in the order in which the frame has them.
    """
    missing = [name for name in NEEDED if name not in frame.columns]
    if missing:
        raise ValueError(f"the source has no column {missing[0]!r}; it needs {', '.join(NEEDED)}")
    columns = [
        F.col("topic"),
        F.col("payload").cast("binary").alias("payload"),
        F.col("time").cast("timestamp").alias("time"),
    ]
    for name, kind in OPTIONAL.items():
        columns.append(_column(frame, name).cast(kind).alias(name))
    return frame.select(*columns)


def _column(frame: DataFrame, name: str) -> Column:
    if name in frame.columns:
        return F.col(name)
    if name == "offset" and not frame.isStreaming:
        return F.monotonically_increasing_id()
    return F.lit(None)


def _ticked(frame: DataFrame) -> DataFrame:
    """The stream with a row a second that has a time and nothing else, so that windows end.

    Right as long as each batch reads all there is: a tick must not overtake the messages before it.
    """
    rate = frame.sparkSession.readStream.format("rate").option("rowsPerSecond", 1).load()
    nothing = [
        F.lit(None).cast(column.dataType).alias(column.name)
        for column in frame.schema.fields
        if column.name != "time"
    ]
    return frame.unionByName(rate.select(F.col("timestamp").alias("time"), *nothing))
