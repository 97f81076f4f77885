"""Publishes so that the broker drops what it already has: MQTT's own exactly-once, held open.

A publication at QoS 2 is remembered by its packet identifier, in the session of its client, until
it is released. Here a session belongs to one partition of one batch, a row's identifier is its
number in it, and nothing is released. If the batch is written again, the session is resumed, and
rows that had arrived are known by their number. The session of the batch before is ended.

It is no `ClientProtocol`: that numbers publications itself, and releases them.
"""

import socket
import ssl
from types import TracebackType
from typing import Final, Self

from gossamer.net.client_socket import DEFAULT_PORTS, parse_address
from gossamer.spark.sink.errors import Broken, SinkError, refused
from gossamer.spark.sink.settings import SinkSettings
from gossamer.wire.codec import decode, encode
from gossamer.wire.packets import (
    PUBREC,
    V5,
    Acknowledgement,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Publish,
)
from gossamer.wire.properties import Properties
from gossamer.wire.reasons import UNSPECIFIED_ERROR
from gossamer.wire.stream import PacketStream

MAX_IDENTIFIER: Final = 65_535
DEFAULT_RECEIVE_MAXIMUM: Final = 65_535
# Without a byte for so long a broker counts as gone.
SILENCE_SECONDS: Final = 30.0
_READ_BYTES: Final = 1 << 16
_PLAIN: Final = ("mqtt", "mqtts")


class HeldSession:
    """One connection of a lasting session; nothing that it publishes is ever released."""

    def __init__(self, settings: SinkSettings, client_id: str, lasts: int) -> None:
        """`lasts` is for how many seconds the broker keeps the session; 0 ends it."""
        self._url = settings.url
        self._stream = PacketStream()
        self._arrived: list[Packet] = []
        self._socket = _dial(settings)
        properties = Properties()
        properties.session_expiry = lasts
        password = None if settings.password is None else settings.password.encode()
        self._send(Connect(client_id, V5, False, 0, settings.user, password, None, properties))
        answer = self._read()
        if not isinstance(answer, Connack) or answer.reason >= UNSPECIFIED_ERROR:
            self._socket.close()
            raise refused(self._url, _said(answer), _reason(answer))
        self.resumed = answer.session_present
        stated = answer.properties.receive_maximum if answer.properties is not None else None
        self.window = DEFAULT_RECEIVE_MAXIMUM if stated is None else stated

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._send(Disconnect(0))
        self._socket.close()

    def publish(self, messages: list[Publish], first_identifier: int) -> None:
        """At most `window` of them; returns when the broker has them all."""
        for identifier, message in enumerate(messages, first_identifier):
            message.packet_id = identifier
            message.dup = self.resumed
        self._socket.sendall(b"".join(encode(message, V5) for message in messages))
        waiting = {message.packet_id: message.topic for message in messages}
        while waiting:
            answer = self._read()
            if not isinstance(answer, Acknowledgement) or answer.kind != PUBREC:
                raise Broken(f"{self._url}: {_said(answer)}")
            topic = waiting.pop(answer.packet_id, "")
            if answer.reason >= UNSPECIFIED_ERROR:
                said = f"PUBLISH to {topic}: {_said(answer)}"
                raise refused(self._url, said, answer.reason)

    def _send(self, packet: Packet) -> None:
        self._socket.sendall(encode(packet, V5))

    def _read(self) -> Packet:
        while not self._arrived:
            data = self._socket.recv(_READ_BYTES)
            if not data:
                raise Broken(f"{self._url}: the connection broke off")
            self._arrived += [decode(head, body, V5) for head, body in self._stream.feed(data)]
        return self._arrived.pop(0)


def _dial(settings: SinkSettings) -> socket.socket:
    address = parse_address(settings.url)
    if address.scheme not in _PLAIN:
        raise SinkError(f"{settings.url}: delivery once speaks {' and '.join(_PLAIN)}")
    port = address.port or DEFAULT_PORTS[address.scheme]
    connection = socket.create_connection((address.host, port), SILENCE_SECONDS)
    if not address.encrypted:
        return connection
    context = ssl.create_default_context(cafile=settings.ca_file)
    return context.wrap_socket(connection, server_hostname=address.host)


def _reason(packet: Packet) -> int:
    return getattr(packet, "reason", 0)


def _said(packet: Packet) -> str:
    properties = getattr(packet, "properties", None)
    text = properties.reason_string if properties is not None else None
    return text or f"refused with reason 0x{_reason(packet):02X}"
