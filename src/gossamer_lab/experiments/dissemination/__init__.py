"""The simulation of the SSF paper: a thousand brokers, in every mode."""
