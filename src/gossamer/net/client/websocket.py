"""The client's side of one WebSocket: send `request` first, then frames."""

import asyncio
from collections.abc import Callable
from typing import Final

from websockets.client import ClientProtocol
from websockets.typing import Subprotocol
from websockets.uri import WebSocketURI

from gossamer.net.client.address import Address
from gossamer.net.client.connection import Connection
from gossamer.net.websocket.frames import FrameStream
from gossamer.net.websocket.server import END_OF_HEAD, SILENT

# A broker's answer to the handshake is a few lines; more than this is no WebSocket.
LARGEST_ANSWER: Final = 16_384
LONGEST_STATUS_SHOWN: Final = 200


class WebSocketClient(FrameStream):
    """`receive` raises ValueError for what is no WebSocket, or does not keep to its rules."""

    __slots__ = ("_handshake", "request")

    def __init__(self, address: Address) -> None:
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


class WebSocketConnection(Connection):
    """A connection whose bytes travel inside a WebSocket."""

    def __init__(
        self,
        received: Callable[[Connection, bytes], None],
        lost: Callable[[Connection, Exception | None], None],
        address: Address,
    ) -> None:
        super().__init__(received, lost)
        self._websocket = WebSocketClient(address)
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        super().write(self._websocket.request)

    def data_received(self, data: bytes) -> None:
        websocket = self._websocket
        try:
            received = websocket.receive(data)
        except ValueError as error:
            self._give_up(ConnectionError(str(error)))
            self.abort()
            return
        if websocket.is_open and not self._ready.done():
            self._ready.set_result(None)
        if received:
            super().data_received(received)
        self._send_output()
        if websocket.closing:
            super().close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._give_up(exc or ConnectionError("closed during the WebSocket handshake"))
        super().connection_lost(exc)

    def write(self, data: bytes) -> None:
        super().write(self._websocket.wrap(data))

    def close(self) -> None:
        if self._websocket.is_open and not self._websocket.closing:
            self._websocket.close()
            self._send_output()
        super().close()

    async def handshake(self) -> None:
        await self._ready

    def _send_output(self) -> None:
        if self._websocket.output:
            super().write(bytes(self._websocket.output))
            self._websocket.output.clear()

    def _give_up(self, error: Exception) -> None:
        if not self._ready.done():
            self._ready.set_exception(error)
            self._ready.exception()  # seen, even if nobody waits any more
