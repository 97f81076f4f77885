"""The format `gossamer` (a `DataSource`): archives to rows, and rows to publications."""

from contextlib import suppress

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from gossamer.archive.schema import projection
from gossamer.spark.sink import settings as sink
from gossamer.spark.sink.writers import FrameWriter, StreamWriter
from gossamer.spark.source.history import History
from gossamer.spark.source.settings import read_settings
from gossamer.spark.source.stream import Stream


class GossamerSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "gossamer"

    def schema(self) -> StructType:
        columns = read_settings(self.options).columns
        return from_arrow_schema(projection(None if columns is None else list(columns)))

    def reader(self, schema: StructType) -> History:
        return History(read_settings(self.options))

    def streamReader(self, schema: StructType) -> Stream:
        return Stream(read_settings(self.options))

    def writer(self, schema: StructType, overwrite: bool) -> FrameWriter:
        sink.check_schema(schema)
        return FrameWriter(sink.read_settings(self.options, needs_key=True))

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        sink.check_schema(schema)
        return StreamWriter(sink.read_settings(self.options))


def register(spark: SparkSession) -> None:
    """For sessions that `gossamer.spark.start` did not make; twice does no harm."""
    spark.dataSource.register(GossamerSource)
    # Without it Spark refuses to read histories from a source that takes conditions. The files of
    # a declarative pipeline may set nothing; there the pipeline's own configuration says it.
    with suppress(PySparkException):
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
