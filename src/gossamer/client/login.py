"""How a client's connection opens: CONNECT, AUTH both ways if there is something to prove, CONNACK.

Without IO: send `request` first, give `receive` what arrives and send what it returns, until
`connack` is there; `rest` is what came behind it. It is all that those need who are a client only
until they are let in, such as links to neighbours and bridges to brokers of other makes.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.wire.codec import decode, encode
from gossamer.wire.errors import ProtocolError
from gossamer.wire.frames import header_length, packet_length
from gossamer.wire.packets import Auth, Connack, Connect, Disconnect, Packet
from gossamer.wire.properties import Properties
from gossamer.wire.reasons import CONTINUE_AUTHENTICATION, NOT_AUTHORIZED, PROTOCOL_ERROR, SUCCESS

# An answer to CONNECT is small; a stranger's flood is not read to its end.
LARGEST_ANSWER: Final = 65_536


@mypyc_attr(allow_interpreted_subclasses=True)
class EnhancedAuthentication:
    """The client's side of enhanced authentication (MQTT 5, section 4.12); `first` starts anew."""

    def __init__(self, method: str) -> None:
        self.method = method

    def first(self) -> bytes | None:
        """Authentication data for CONNECT, or for the AUTH that re-authenticates."""
        return None

    def respond(self, challenge: bytes) -> bytes:
        """The answer to the broker's challenge. ValueError if the challenge cannot be trusted."""
        raise ValueError("no challenge was expected")

    def verify(self, final: bytes) -> None:
        """The broker's last word, empty if it had none. ValueError if it is not that broker."""


class Login:
    """One login. A CONNACK that refuses is an answer too: look at its reason."""

    def __init__(
        self, connect: Connect, authentication: EnhancedAuthentication | None = None
    ) -> None:
        self.connack: Connack | None = None
        self.rest = b""
        self._version = connect.version
        self._authentication = authentication
        if authentication is not None:
            properties = connect.properties or Properties()
            properties.authentication_method = authentication.method
            properties.authentication_data = authentication.first()
            connect.properties = properties
        self.request = encode(connect, connect.version)

    def receive(self, data: bytes) -> bytes:
        """What is to be sent now. ProtocolError if the other side cannot be, or is not, trusted."""
        data = self.rest + data
        answers = b""
        while self.connack is None:
            size = packet_length(data, 0)
            if size > LARGEST_ANSWER:
                raise ProtocolError(PROTOCOL_ERROR, "what answers there is not an MQTT broker")
            if size == 0 or size > len(data):
                break
            packet = decode(data[0], data[header_length(data, 0) : size], self._version)
            data = data[size:]
            answers += self._take(packet)
        self.rest = data
        return answers

    def _take(self, packet: Packet) -> bytes:
        if isinstance(packet, Auth):
            return encode(respond(self._authentication, packet), self._version)
        if isinstance(packet, Connack):
            if packet.reason == SUCCESS:
                verify(self._authentication, packet.properties)
            self.connack = packet
            return b""
        if isinstance(packet, Disconnect):  # against the standard, but it says why
            text = reason_string(packet.properties) or f"with reason 0x{packet.reason:02x}"
            raise ProtocolError(PROTOCOL_ERROR, f"it disconnected before CONNACK: {text}")
        raise ProtocolError(PROTOCOL_ERROR, "a packet came before CONNACK")  # [MQTT-3.2.0-1]


def respond(authentication: EnhancedAuthentication | None, packet: Auth) -> Auth:
    """The answer to the broker's challenge."""
    if authentication is None:
        raise ProtocolError(PROTOCOL_ERROR, "AUTH, but no authentication method was named")
    challenge = packet.properties.authentication_data if packet.properties else None
    try:
        answer = authentication.respond(challenge or b"")
    except ValueError as error:
        raise ProtocolError(NOT_AUTHORIZED, str(error)) from error
    return auth_packet(authentication, CONTINUE_AUTHENTICATION, answer)


def verify(authentication: EnhancedAuthentication | None, properties: Properties | None) -> None:
    """Whether it is the broker that it should be; ProtocolError if not."""
    if authentication is not None:
        final = properties.authentication_data if properties else None
        try:
            authentication.verify(final or b"")
        except ValueError as error:
            raise ProtocolError(NOT_AUTHORIZED, str(error)) from error


def auth_packet(authentication: EnhancedAuthentication, reason: int, data: bytes | None) -> Auth:
    properties = Properties()
    properties.authentication_method = authentication.method
    properties.authentication_data = data
    return Auth(reason, properties)


def reason_string(properties: Properties | None) -> str:
    """What the broker gave as its reason, empty if nothing."""
    return (properties.reason_string or "") if properties is not None else ""
