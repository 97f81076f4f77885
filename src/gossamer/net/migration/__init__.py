"""From other brokers' configurations to ours, with a report of what has no counterpart."""
