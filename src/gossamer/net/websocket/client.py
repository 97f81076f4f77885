"""The client's side of one WebSocket: send `request` first, then frames."""

from typing import Final

from websockets.client import ClientProtocol
from websockets.typing import Subprotocol
from websockets.uri import WebSocketURI

from gossamer.net.client_socket import BrokerAddress
from gossamer.net.websocket.frames import FrameStream
from gossamer.net.websocket.server import END_OF_HEAD, SILENT

# A broker's answer to the handshake is a few lines; more than this is no WebSocket.
LARGEST_ANSWER: Final = 16_384
LONGEST_STATUS_SHOWN: Final = 200


class WebSocketClient(FrameStream):
    """`receive` raises ValueError for what is no WebSocket, or does not keep to its rules."""

    __slots__ = ("_handshake", "request")

    def __init__(self, address: BrokerAddress) -> None:
        super().__init__(masks=True)
        where = WebSocketURI(address.encrypted, address.host, address.port, address.path, "")
        handshake = ClientProtocol(where, subprotocols=[Subprotocol("mqtt")], logger=SILENT)
        handshake.send_request(handshake.connect())
        self.request = b"".join(handshake.data_to_send())
        self._handshake: ClientProtocol | None = handshake

    @property
    def is_open(self) -> bool:
        return self._handshake is None

    def receive(self, data: bytes) -> bytes:
        """The MQTT bytes in what has arrived; answers go to `output`."""
        if self._handshake is not None:
            self._buffer += data
            head, end, data = self._buffer.partition(END_OF_HEAD)
            if not end and len(self._buffer) <= LARGEST_ANSWER:
                return b""
            self._buffer = b""
            self._finish(self._handshake, head + end)
            self._handshake = None
        return self.read(data)

    def _finish(self, handshake: ClientProtocol, head: bytes) -> None:
        status = head.partition(b"\r\n")[0].decode("latin-1")
        if status.split(" ")[1:2] != ["101"]:
            raise ValueError(f"no WebSocket here: {status[:LONGEST_STATUS_SHOWN]}")
        handshake.receive_data(head)
        handshake.parser.close()  # it and the protocol hold each other
        if handshake.handshake_exc is not None:
            raise ValueError(f"no WebSocket here: {handshake.handshake_exc}")
        if handshake.subprotocol != "mqtt":  # [MQTT-6.0.0-4]
            raise ValueError("this WebSocket does not carry MQTT")
