"""What clients that try to fill or stop a real broker do to the latency of another."""
