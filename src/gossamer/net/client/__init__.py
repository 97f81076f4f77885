"""A small MQTT client: the protocol without IO, and asyncio around it."""

from gossamer.net.client.client import Client
from gossamer.net.client.errors import Disconnected, Refused, Unanswered

__all__ = ["Client", "Disconnected", "Refused", "Unanswered"]
