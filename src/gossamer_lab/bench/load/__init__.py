"""The load generator: its own packets, clients and scenarios, in a process beside the broker."""
