"""A mesh of real broker processes on this machine, for a look, for tests and for experiments."""
