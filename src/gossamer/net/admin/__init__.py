"""The HTTP API for operators, on a listener of its own.

The server is written by hand: one request a connection, a handful of routes and a strict parser
are less code to trust than a web framework, and the broker keeps its few dependencies.
"""
