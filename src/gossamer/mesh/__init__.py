"""Between brokers: who wants what, told in as few bytes as the mode allows."""
