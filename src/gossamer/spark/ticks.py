"""Streams that know what time it is though nothing is published."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def ticked(frame: DataFrame) -> DataFrame:
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
