"""Brokers of other makes: what crosses to and from them, and which broker sees to it."""
