"""What Spark makes of the archive: rates, latency, and windows beside hand-written queries."""
