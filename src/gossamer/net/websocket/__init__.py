"""WebSocket (RFC 6455) for MQTT: bytes in, bytes out, no sockets.

The handshakes are those of `websockets`. The frames are read here: the library keeps a frame until
it is whole, so that a stranger would decide how much it holds, answers every ping of a flood, and
takes four times as long to write a small frame.
"""

from gossamer.net.websocket.server import HandshakePolicy, WebSocketServer

__all__ = ["HandshakePolicy", "WebSocketServer"]
