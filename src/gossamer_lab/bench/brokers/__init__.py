"""Brokers beside each other: the same load from one generator, each broker alone on its core."""
