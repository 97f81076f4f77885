"""Windows that all brokers of a mesh count together."""
