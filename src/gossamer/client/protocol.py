"""The client's side of MQTT without IO: calls and bytes in, packets and bytes out.

What the application should see is returned by `receive` as the packets themselves: Connack,
Publish (each QoS 2 message once), the last Acknowledgement of a publication, Suback, Unsuback,
Pingresp, Auth (re-authentication succeeded) and Disconnect. What must be sent waits in `take`.

The object outlives a connection: after `lost`, `open` again, and if the broker still has the
session, what was not acknowledged is sent again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.client.login import EnhancedAuthentication, Login, auth_packet, respond, verify
from gossamer.wire.codec import decode, encode
from gossamer.wire.errors import ProtocolError
from gossamer.wire.frames import PacketStream
from gossamer.wire.packets import (
    AUTH,
    CONNACK,
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREC,
    PUBREL,
    SUBACK,
    UNSUBACK,
    V5,
    Acknowledgement,
    Auth,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Pingreq,
    Publish,
    Request,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
    Will,
)
from gossamer.wire.properties import Properties
from gossamer.wire.reasons import (
    CONTINUE_AUTHENTICATION,
    PACKET_IDENTIFIER_NOT_FOUND,
    PACKET_TOO_LARGE,
    PROTOCOL_ERROR,
    RE_AUTHENTICATE,
    SUCCESS,
    TOPIC_ALIAS_INVALID,
    UNSPECIFIED_ERROR,
)

# A packet identifier has 16 bits and is never 0.
LAST_PACKET_ID: Final = 65_535

# What a broker that names no Receive Maximum accepts.
DEFAULT_RECEIVE_MAXIMUM: Final = 65_535


@mypyc_attr(native_class=False)  # mypyc makes no classes of this one
class Refused(ConnectionError):
    """The broker said no to a CONNECT or a PUBLISH; `reason` is its code."""

    def __init__(self, what: str, reason: int, text: str = "") -> None:
        super().__init__(f"{what} refused with 0x{reason:02x}" + (f": {text}" if text else ""))
        self.reason = reason
        self.text = text


class ClientProtocol:
    """One client; `connect` is what it opens each connection with."""

    def __init__(
        self, connect: Connect, authentication: EnhancedAuthentication | None = None
    ) -> None:
        self.version = connect.version
        self.connected = False
        self.client_id = connect.client_id  # chosen, or assigned by the broker
        self.keep_alive = connect.keep_alive  # seconds; asked for, or set by the broker
        self._connect = connect
        self._authentication = authentication
        self._login: Login | None = None  # while it lasts
        self._stream = PacketStream()
        self._outbox: list[bytes] = []
        self._last_id = 0
        self._requests: set[int] = set()  # ids of SUBSCRIBE and UNSUBSCRIBE without an answer
        self._inflight: dict[int, Packet] = {}  # PUBLISH, or PUBREL once it was received
        self._waiting: dict[int, Publish] = {}  # held back by the broker's Receive Maximum
        self._window = DEFAULT_RECEIVE_MAXIMUM
        self._largest: int | None = None  # the broker's Maximum Packet Size
        self._incoming: set[int] = set()  # QoS 2 messages that wait for their PUBREL
        self._aliases: dict[int, str] = {}

    @property
    def unacknowledged(self) -> int:
        """Publications at QoS 1 and 2 that the broker has not finished with."""
        return len(self._inflight) + len(self._waiting)

    def open(self) -> None:
        """Start a connection: forgets the last one's bytes, keeps the session's state."""
        self.lost()
        self._stream = PacketStream()
        self._outbox.clear()
        self._requests.clear()
        self._aliases.clear()
        self._connect.client_id = self.client_id
        self._login = Login(self._connect, self._authentication)
        self._outbox.append(self._login.request)

    def lost(self) -> None:
        """The connection is gone."""
        self.connected = False

    def set_will(self, will: Will) -> None:
        """The will of the connections that are opened from now on."""
        self._connect.will = will

    def take(self) -> bytes:
        """Everything that is to be sent now; the caller sends it."""
        data = b"".join(self._outbox)
        self._outbox.clear()
        return data

    def publish(
        self,
        topic: str,
        payload: bytes,
        qos: int = 0,
        retain: bool = False,
        properties: Properties | None = None,
    ) -> int:
        """The packet identifier whose Acknowledgement will tell the end; 0 at QoS 0.

        Refused, and nothing is sent, for a packet that the broker would not take.
        """
        packet = Publish(topic, payload, qos, retain, False, 0, properties)
        if self._largest is not None:  # [MQTT-3.2.2-15]
            size = len(encode(Publish(topic, payload, qos, retain, False, 1, properties), V5))
            if size > self._largest:
                words = f"a packet of {size} bytes; the broker takes {self._largest}"
                raise Refused(f"PUBLISH to {topic}", PACKET_TOO_LARGE, words)
        if qos == 0:
            self._send(packet)
            return 0
        packet.packet_id = self._new_id()
        self._waiting[packet.packet_id] = packet
        try:
            self._send_waiting()
        except (ValueError, OverflowError):  # it cannot be encoded, so it never was in flight
            self._inflight.pop(packet.packet_id, None)
            raise
        return packet.packet_id

    def subscribe(self, requests: list[Request], properties: Properties | None = None) -> int:
        """The packet identifier that the Suback will carry."""
        packet_id = self._new_id()
        self._send(Subscribe(packet_id, requests, properties))
        self._requests.add(packet_id)
        return packet_id

    def unsubscribe(self, filters: list[str], properties: Properties | None = None) -> int:
        """The packet identifier that the Unsuback will carry."""
        packet_id = self._new_id()
        self._send(Unsubscribe(packet_id, filters, properties))
        self._requests.add(packet_id)
        return packet_id

    def ping(self) -> None:
        self._send(Pingreq())

    def reauthenticate(self) -> None:
        """Prove again who this is, on the running connection."""
        authentication = self._authentication
        if authentication is None:
            raise ValueError("this client has nothing to authenticate with")
        self._send(auth_packet(authentication, RE_AUTHENTICATE, authentication.first()))

    def disconnect(self, reason: int = 0, properties: Properties | None = None) -> None:
        self._send(Disconnect(reason, properties))
        self.connected = False

    def receive(self, data: bytes) -> list[Packet]:
        """What the application should see. After a ProtocolError send `take` and close."""
        seen: list[Packet] = []
        try:
            if not self.connected:
                data = self._log_in(data, seen)
            for head, body in self._stream.feed(data):
                packet = decode(head, body, self.version)
                handler = _HANDLERS.get(packet.kind)
                event = packet if handler is None else handler(self, packet)
                if event is not None:
                    seen.append(event)
        except ProtocolError as error:
            if self.connected and self.version == V5:
                self.disconnect(error.reason)
            raise
        return seen

    def _log_in(self, data: bytes, seen: list[Packet]) -> bytes:
        """What came behind a CONNACK that accepted us; after one that refused, nothing counts."""
        login = self._login
        if login is None:
            return b""
        self._outbox.append(login.receive(data))
        connack = login.connack
        if connack is None:
            return b""
        self._login = None
        seen.append(connack)
        if connack.reason != SUCCESS:
            return b""
        self._accepted(connack)
        return login.rest

    def _send(self, packet: Packet) -> None:
        self._outbox.append(encode(packet, self.version))

    def _new_id(self) -> int:
        taken = (self._inflight, self._waiting, self._requests)
        for _ in range(LAST_PACKET_ID):  # [MQTT-2.2.1-3]
            self._last_id = self._last_id % LAST_PACKET_ID + 1
            if not any(self._last_id in ids for ids in taken):
                return self._last_id
        raise ValueError("all packet identifiers are in use")

    def _send_waiting(self) -> None:
        while self._waiting and len(self._inflight) < self._window:  # [MQTT-3.3.4-7]
            packet_id = next(iter(self._waiting))
            packet = self._waiting.pop(packet_id)
            self._inflight[packet_id] = packet
            self._send(packet)

    def _accepted(self, connack: Connack) -> None:
        """What the broker decided in its CONNACK goes before what was asked for."""
        offered = connack.properties or Properties()
        self.connected = True
        self.client_id = offered.assigned_client_id or self.client_id
        self.keep_alive = self._connect.keep_alive
        if offered.server_keep_alive is not None:  # [MQTT-3.1.2-21]
            self.keep_alive = offered.server_keep_alive
        maximum = offered.receive_maximum
        self._window = DEFAULT_RECEIVE_MAXIMUM if maximum is None else maximum
        self._largest = offered.maximum_packet_size
        if connack.session_present:
            self._resend()
        else:
            self._inflight.clear()
            self._incoming.clear()
        self._send_waiting()

    def _resend(self) -> None:
        for packet in self._inflight.values():  # [MQTT-4.4.0-1], in the first order
            if isinstance(packet, Publish):
                packet.dup = True
            self._send(packet)

    def _on_publish(self, packet: Packet) -> Packet | None:
        assert isinstance(packet, Publish)
        self._resolve_alias(packet)
        if packet.qos == 0:
            return packet
        if packet.qos == 1:
            self._send(Acknowledgement(PUBACK, packet.packet_id))
            return packet
        self._send(Acknowledgement(PUBREC, packet.packet_id))
        if packet.packet_id in self._incoming:  # [MQTT-4.3.3-10]
            return None
        self._incoming.add(packet.packet_id)
        return packet

    def _resolve_alias(self, packet: Publish) -> None:
        alias = packet.properties.topic_alias if packet.properties else None
        if alias is None:
            return
        asked = self._connect.properties
        offered = asked.topic_alias_maximum if asked is not None else None
        if alias > (offered or 0):  # [MQTT-3.1.2-26]
            raise ProtocolError(TOPIC_ALIAS_INVALID, f"topic alias {alias} was not offered")
        packet.topic = packet.topic or self._aliases.get(alias, "")
        if not packet.topic:
            raise ProtocolError(PROTOCOL_ERROR, f"topic alias {alias} has no topic yet")
        self._aliases[alias] = packet.topic

    def _on_pubrel(self, packet: Packet) -> Packet | None:
        assert isinstance(packet, Acknowledgement)
        known = packet.packet_id in self._incoming
        self._incoming.discard(packet.packet_id)
        reason = SUCCESS if known else PACKET_IDENTIFIER_NOT_FOUND
        self._send(Acknowledgement(PUBCOMP, packet.packet_id, reason))
        return None

    def _on_pubrec(self, packet: Packet) -> Packet | None:
        assert isinstance(packet, Acknowledgement)
        if packet.reason >= UNSPECIFIED_ERROR:
            return self._on_final(packet)
        known = packet.packet_id in self._inflight
        reason = SUCCESS if known else PACKET_IDENTIFIER_NOT_FOUND
        release = Acknowledgement(PUBREL, packet.packet_id, reason)
        if known:
            self._inflight[packet.packet_id] = release
        self._send(release)
        return None

    def _on_final(self, packet: Packet) -> Packet | None:
        assert isinstance(packet, Acknowledgement)
        if self._inflight.pop(packet.packet_id, None) is None:
            return None  # its session was lost, and with it whoever waited
        self._send_waiting()
        return packet

    def _on_answer(self, packet: Packet) -> Packet:
        assert isinstance(packet, Suback | Unsuback)
        if packet.packet_id not in self._requests:
            raise ProtocolError(PROTOCOL_ERROR, "an answer to a request that was not made")
        self._requests.remove(packet.packet_id)
        return packet

    def _on_auth(self, packet: Packet) -> Packet | None:
        assert isinstance(packet, Auth)
        if packet.reason == CONTINUE_AUTHENTICATION or self._authentication is None:
            self._send(respond(self._authentication, packet))
            return None
        verify(self._authentication, packet.properties)
        return packet


def _second_connack(protocol: ClientProtocol, packet: Packet) -> Packet | None:
    raise ProtocolError(PROTOCOL_ERROR, "a second CONNACK")


# What is not named here goes to the application as it came.
_HANDLERS: Final[dict[int, Callable[[ClientProtocol, Packet], Packet | None]]] = {
    CONNACK: _second_connack,
    PUBLISH: ClientProtocol._on_publish,
    PUBACK: ClientProtocol._on_final,
    PUBREC: ClientProtocol._on_pubrec,
    PUBREL: ClientProtocol._on_pubrel,
    PUBCOMP: ClientProtocol._on_final,
    SUBACK: ClientProtocol._on_answer,
    UNSUBACK: ClientProtocol._on_answer,
    AUTH: ClientProtocol._on_auth,
}
