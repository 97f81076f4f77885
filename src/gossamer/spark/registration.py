"""`register`: makes the format `gossamer` known to a session."""

from contextlib import suppress

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from gossamer.spark.format import GossamerSource


def register(spark: SparkSession) -> None:
    """For sessions that `gossamer.spark.start` did not make; twice does no harm."""
    spark.dataSource.register(GossamerSource)
    # Without it Spark refuses to read histories from a source that takes conditions. The files of
    # a declarative pipeline may set nothing; there the pipeline's own configuration says it.
    with suppress(PySparkException):
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
