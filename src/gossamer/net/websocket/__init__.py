"""The server's side of WebSocket (RFC 6455) for MQTT: bytes in, bytes out, no sockets."""

from gossamer.net.websocket.connection import WebSocketServer
from gossamer.net.websocket.handshake import HandshakePolicy

__all__ = ["HandshakePolicy", "WebSocketServer"]
