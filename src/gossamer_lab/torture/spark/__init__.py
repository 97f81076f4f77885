"""Kills whatever takes part in a query on the archive, and counts what reached its files."""
