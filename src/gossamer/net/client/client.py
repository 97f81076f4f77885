"""The asyncio client: what an application calls; `Link` has the connection.

    async with Client("mqtt://127.0.0.1:1883") as client:
        await client.subscribe("sensors/#", qos=1)
        await client.publish("sensors/room1", b"21.5", qos=1)
        async for message in client.messages():
            print(message.topic, message.payload)

A client does not reconnect by itself: `connect` again resumes the session if the broker kept it.
"""

import ssl
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Final, Self

from gossamer.net.client.address import parse_address
from gossamer.net.client.authenticator import Authenticator
from gossamer.net.client.errors import Refused, said
from gossamer.net.client.link import AUTHENTICATION, Link
from gossamer.net.client.protocol import ClientProtocol
from gossamer.wire.packets import (
    V5,
    Acknowledgement,
    Connack,
    Connect,
    Publish,
    Request,
    Suback,
    Unsuback,
    Will,
)
from gossamer.wire.properties import Properties
from gossamer.wire.reasons import UNSPECIFIED_ERROR

# How long a CONNECT may take before the broker counts as absent, in seconds.
CONNECT_TIMEOUT: Final = 30.0


class Client:
    """One client of one broker. Give the CONNECT's fields here; all else has sane defaults."""

    def __init__(
        self,
        url: str = "mqtt://127.0.0.1:1883",
        client_id: str = "",
        *,
        version: int = V5,
        clean_start: bool = True,
        keep_alive: int = 60,
        username: str | None = None,
        password: bytes | None = None,
        will: Will | None = None,
        properties: Properties | None = None,
        authenticator: Authenticator | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.address = parse_address(url)
        self.connack: Connack | None = None
        # What the broker said with its last SUBACK, empty if nothing.
        self.reason_string = ""
        greeting = Connect(
            client_id, version, clean_start, keep_alive, username, password, will, properties
        )
        self._protocol = ClientProtocol(greeting, authenticator)
        self._link = Link(self.address, tls, self._protocol)

    @property
    def connected(self) -> bool:
        return self._link.connection is not None and self._protocol.connected

    @property
    def client_id(self) -> str:
        """The name this client goes by, be it chosen or assigned by the broker."""
        return self._protocol.greeting.client_id

    @property
    def unacknowledged(self) -> int:
        """Publications at QoS 1 and 2 that the broker has not finished with."""
        return self._protocol.unacknowledged

    async def connect(self, timeout: float = CONNECT_TIMEOUT) -> Connack:
        """Raises Refused, or OSError if there is no broker. May be called again after a loss."""
        self.connack = await self._link.open(timeout)
        return self.connack

    async def publish(
        self,
        topic: str,
        payload: bytes | str = b"",
        qos: int = 0,
        retain: bool = False,
        properties: Properties | None = None,
    ) -> int:
        """Returns when the broker has it for good (at QoS 0: when it is written).

        The result is the broker's reason code; Refused is raised for one that means failure.
        """
        connection = self._link.ready()
        data = payload.encode() if isinstance(payload, str) else payload
        packet_id = self._protocol.publish(topic, data, qos, retain, properties)
        if packet_id == 0:
            self._link.flush()
            await connection.drain()
            return 0
        answer = await self._link.answer(packet_id)
        assert isinstance(answer, Acknowledgement)
        if answer.reason >= UNSPECIFIED_ERROR:
            raise Refused(f"PUBLISH to {topic}", answer.reason, said(answer.properties))
        return answer.reason

    async def subscribe(
        self, *filters: str | Request, qos: int = 0, properties: Properties | None = None
    ) -> list[int]:
        """One reason code a filter: the granted QoS, or 0x80 and above. `qos` is for the texts."""
        self._link.ready()
        requests = [Request(item, qos) if isinstance(item, str) else item for item in filters]
        answer = await self._link.answer(self._protocol.subscribe(requests, properties))
        assert isinstance(answer, Suback)
        self.reason_string = said(answer.properties)
        return answer.reasons

    async def unsubscribe(self, *filters: str, properties: Properties | None = None) -> list[int]:
        """One reason code a filter; none in MQTT 3.1.1."""
        self._link.ready()
        answer = await self._link.answer(self._protocol.unsubscribe(list(filters), properties))
        assert isinstance(answer, Unsuback)
        return answer.reasons

    def messages(self) -> AsyncIterator[Publish]:
        """What arrives, in order. Ends after `disconnect`; Disconnected if the link broke."""
        return self._link.messages()

    async def reauthenticate(self) -> None:
        """Prove again who this is; raises Disconnected if the broker does not believe it."""
        self._link.ready()
        self._protocol.reauthenticate()
        await self._link.answer(AUTHENTICATION)

    async def disconnect(self, reason: int = 0, properties: Properties | None = None) -> None:
        """Say goodbye and close; nothing happens if there is no connection."""
        connection = self._link.connection
        if connection is None:
            return
        self._protocol.disconnect(reason, properties)
        self._link.flush()
        self._link.detach(None)
        await connection.finish()

    def abort(self) -> None:
        """Drop the connection without a goodbye, as a crash would: the broker sends the will."""
        if self._link.connection is not None:
            self._link.connection.abort()

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.disconnect()
