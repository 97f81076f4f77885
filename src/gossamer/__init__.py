"""Gossamer: a network of MQTT brokers that you can compute in."""

import os

__version__ = "0.2.0"

if os.environ.get("GOSSAMER_PURE") == "1":
    from gossamer.pure import prefer_sources

    prefer_sources()
