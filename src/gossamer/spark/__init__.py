"""Messages in Spark: the source and sink `gossamer`, and subscriptions that compute."""

from gossamer.spark.subscribing import subscribe

__all__ = ["subscribe"]
