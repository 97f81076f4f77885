"""Gossamer measured beside others, on this machine, in one run."""
