"""What brokers carry and for whom, and what would make it less."""
