"""Answers operators that a broker leaves to Spark: asks what is wanted, computes, publishes."""
