"""The format `gossamer` (a `DataSource`): archives to rows, and rows to publications."""

from contextlib import suppress

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from gossamer.archive.schema import projection
from gossamer.spark.sink.sink_options import check_schema, read_sink_options
from gossamer.spark.sink.writer import GossamerStreamWriter, GossamerWriter
from gossamer.spark.source.batch_reader import GossamerReader
from gossamer.spark.source.source_options import read_source_options
from gossamer.spark.source.stream_reader import GossamerStreamReader


class GossamerSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "gossamer"

    def schema(self) -> StructType:
        columns = read_source_options(self.options).columns
        return from_arrow_schema(projection(None if columns is None else list(columns)))

    def reader(self, schema: StructType) -> GossamerReader:
        return GossamerReader(read_source_options(self.options))

    def streamReader(self, schema: StructType) -> GossamerStreamReader:
        return GossamerStreamReader(read_source_options(self.options))

    def writer(self, schema: StructType, overwrite: bool) -> GossamerWriter:
        check_schema(schema)
        return GossamerWriter(read_sink_options(self.options, needs_key=True))

    def streamWriter(self, schema: StructType, overwrite: bool) -> GossamerStreamWriter:
        check_schema(schema)
        return GossamerStreamWriter(read_sink_options(self.options))


def register(spark: SparkSession) -> None:
    """For sessions that `gossamer.spark.start` did not make; twice does no harm."""
    spark.dataSource.register(GossamerSource)
    # Without it Spark refuses to read histories from a source that takes conditions. The files of
    # a declarative pipeline may set nothing; there the pipeline's own configuration says it.
    with suppress(PySparkException):
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
