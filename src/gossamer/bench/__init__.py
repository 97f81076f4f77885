"""Measurements beside others, each in one run on one machine."""
