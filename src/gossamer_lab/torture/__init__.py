"""Kills a real broker again and again, and holds it to every promise it made."""
