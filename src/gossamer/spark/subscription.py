"""`subscribe`: an MQTT+ subscription as a DataFrame, over a history or over a stream."""

from collections.abc import Iterable, Mapping
from typing import Final

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from gossamer.plus.grammar import is_operator_filter, parse
from gossamer.plus.nodes import OperatorPlan
from gossamer.plus.options import Options, read_options, settled
from gossamer.plus.ttl import IMPLICIT_TTL
from gossamer.plus.windows import DEFAULT_WINDOWS, Window
from gossamer.spark.fences.areas import Area
from gossamer.spark.fences.fence import fenced
from gossamer.spark.filters import filtered, plain
from gossamer.spark.images.installed import known_processors, vocabulary
from gossamer.spark.images.processors import Processor, processed
from gossamer.spark.messages import messages
from gossamer.spark.registration import register
from gossamer.spark.spatial import spatial_results
from gossamer.spark.spatial_stream import streamed_spatial_results
from gossamer.spark.temporal import temporal_results
from gossamer.spark.ticks import ticked
from gossamer.spark.topics import matches
from gossamer.topics.names import check_filter
from gossamer.vision.settings import WorkerSettings

# How late a message of a stream may come and still count in its window.
WATERMARK: Final = "1 minute"


def subscribe(
    spark: SparkSession,
    filter: str,
    source: DataFrame | None = None,
    *,
    reply: str = "skr",
    ttl: float = IMPLICIT_TTL,
    watermark: str = WATERMARK,
    windows: Iterable[Window] = (),
    processors: Mapping[str, Processor] | None = None,
    vision: WorkerSettings | None = None,
    skipped: str | Observation | None = None,
    stream: bool = False,
    ticks: bool = False,
    geo_area: Area | None = None,
    **options: str,
) -> DataFrame:
    """What the broker would send to this subscription, as rows of time, topic, payload and value.

    `source` has messages. Without one, `options` are those of the format "gossamer", and `stream`
    says whether to follow the archives or to read what they have. With `ticks`, windows of a stream
    end by the clock, though nothing is published. `geo_area` is the GLP or GeoJSON
    that a client would subscribe with. Raises PlusError, TopicError, GlpError.
    """
    check_filter(filter)
    computes = is_operator_filter(filter)
    known = known_processors(processors) if computes else {}
    words = vocabulary((*DEFAULT_WINDOWS, *windows), known)
    plan = parse(filter, words) if computes else None
    reads = plan.reads if plan is not None else (filter,)
    if source is None:
        source = _archives(spark, reads, stream, options)
    elif options or stream:
        raise ValueError("give a source, or where to read, not both")
    found = messages(source).where(matches(reads, F.col("topic")))
    if geo_area is not None:
        found = fenced(found, geo_area)
    if plan is None:
        return plain(found)
    if plan.processor is not None:
        found = processed(found, plan.processor.keyword, known, vision, skipped)
    settled_options = settled(plan, read_options([("plus_reply", reply)]))
    if ticks and plan.temporal is not None and found.isStreaming:
        found = ticked(found)
    return _results(found, plan, settled_options, ttl, watermark)


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
        if found.isStreaming:
            found = found.withWatermark("time", watermark)
        return temporal_results(found, plan, options.names_participants)
    if plan.spatial is not None:
        compile_spatial = streamed_spatial_results if found.isStreaming else spatial_results
        return compile_spatial(found, plan, options.names_participants, ttl)
    return filtered(found, plan)
