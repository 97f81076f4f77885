"""Durable state: what was acknowledged is on disk, and comes back at the next start."""
