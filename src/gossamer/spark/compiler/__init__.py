"""Operators compiled to columns: the same results, row for row, as the broker sends."""
