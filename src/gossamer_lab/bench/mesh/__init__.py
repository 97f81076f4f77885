"""Lines of brokers beside one broker: what a hop costs."""
