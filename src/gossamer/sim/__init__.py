"""A shell of virtual time: the shipping brokers on a network that never was."""
