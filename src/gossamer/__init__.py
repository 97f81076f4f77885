"""Gossamer: a network of MQTT brokers that you can compute in."""

__version__ = "0.1.0"
