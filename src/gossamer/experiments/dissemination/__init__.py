"""Figures 13 to 21 of the SSF paper: a thousand simulated brokers, in every mode."""
