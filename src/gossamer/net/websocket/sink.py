"""A client's socket that speaks WebSocket: the handshake, then MQTT in binary frames."""

from gossamer.net.transport import ConnectionPolicy, SocketSink
from gossamer.net.turns import Host
from gossamer.net.websocket.server import HandshakePolicy, WebSocketServer


class WebSocketSink(SocketSink):
    """MQTT in binary frames, after the handshake."""

    def __init__(
        self,
        host: Host,
        policy: ConnectionPolicy,
        handshake: HandshakePolicy,
        address: str | None = None,
        ticket: int = 0,
    ) -> None:
        super().__init__(host, policy, address, ticket)
        self._frames = WebSocketServer(handshake)

    def data_received(self, data: bytes) -> None:
        inner = self._frames.receive(data)
        self._send_output()  # the handshake's answer comes before that of a CONNECT beside it
        if inner:
            super().data_received(inner)
        if self._frames.closing:
            super().close()

    def write(self, data: bytes) -> None:
        if self._frames.is_open and not self._frames.closing:
            super().write(self._frames.wrap(data))

    def close(self) -> None:
        self._frames.close()
        self._send_output()
        super().close()

    def _send_output(self) -> None:
        if self._frames.output:
            super().write(bytes(self._frames.output))
            self._frames.output.clear()
