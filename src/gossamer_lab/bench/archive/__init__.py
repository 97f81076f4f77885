"""What the archive costs a broker, and how fast it is read."""
