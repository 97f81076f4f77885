"""Processors on the executors: payloads (images) become what the operators read."""
