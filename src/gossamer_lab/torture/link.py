"""One client over any number of connections: it comes back whenever the broker does."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from gossamer.client.protocol import ClientProtocol
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import Connack, Connect, Packet
from gossamer.wire.properties import Properties
from gossamer_lab.torture.ledger import DeliveryLedger

NEVER: Final = 0xFFFFFFFF
_RETRY_SECONDS: Final = 0.02
_CHUNK: Final = 65_536


def lasting(expiry: int = NEVER) -> Properties:
    """The properties of a CONNECT whose session outlives its connection."""
    properties = Properties()
    properties.session_expiry = expiry
    return properties


class TortureLink:
    """A session that lasts: once the broker has confirmed it, it must be there ever after."""

    def __init__(
        self, port: int, client_id: str, ledger: DeliveryLedger, seen: Callable[[Packet], None]
    ) -> None:
        connect = Connect(client_id, clean_start=False, properties=lasting())
        self.client_id = client_id
        self.protocol = ClientProtocol(connect)
        self._port = port
        self._ledger = ledger
        self._seen = seen
        self._confirmed = False
        self._writer: asyncio.StreamWriter | None = None
        self._stopping = False

    async def run(self) -> None:
        """Stay connected until `stop`."""
        while not self._stopping:
            with suppress(OSError):
                await self._connect_once()
            self.protocol.lost()
            self._writer = None
            await asyncio.sleep(_RETRY_SECONDS)

    def flush(self) -> None:
        data = self.protocol.take()
        if data and self._writer is not None:
            self._writer.write(data)

    def drop(self) -> None:
        """Break the connection off, as a bad network does."""
        if self._writer is not None:
            self._writer.transport.abort()

    def stop(self) -> None:
        self._stopping = True
        self.drop()

    async def _connect_once(self) -> None:
        reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            self.protocol.open()
            self.flush()
            while data := await reader.read(_CHUNK):
                for packet in self.protocol.receive(data):
                    if isinstance(packet, Connack):
                        self._note_connack(packet)
                    self._seen(packet)
                self.flush()
        except ProtocolError as error:
            self._ledger.fault(f"{self.client_id} was sent something wrong: {error.text}")
        finally:
            self._writer.transport.abort()

    def _note_connack(self, packet: Connack) -> None:
        if packet.reason:
            self._ledger.fault(f"{self.client_id} was refused with 0x{packet.reason:02x}")
        elif self._confirmed and not packet.session_present:
            self._ledger.fault(f"the session of {self.client_id} vanished")
        self._confirmed = True
