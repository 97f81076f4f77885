"""`register`: makes the format `gossamer` known to a session."""

from pyspark.sql import SparkSession

from gossamer.spark.format import GossamerSource


def register(spark: SparkSession) -> None:
    """For sessions that `gossamer.spark.start` did not make; twice does no harm."""
    spark.dataSource.register(GossamerSource)
    # Without it Spark refuses to read a source that takes conditions.
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
