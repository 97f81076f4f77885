"""How many bytes each table of the broker holds, and how many it may hold."""
