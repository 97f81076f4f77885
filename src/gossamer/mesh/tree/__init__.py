"""Any graph of links, and the one tree of it that all brokers use."""
