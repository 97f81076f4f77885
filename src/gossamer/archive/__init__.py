"""The archive: what clients publish, as an append-only log with one offset a message."""
