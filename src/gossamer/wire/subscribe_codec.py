"""SUBSCRIBE, SUBACK, UNSUBSCRIBE and UNSUBACK. The syntax of filters is not judged here."""

from typing import Final

from gossamer.wire.errors import ProtocolError
from gossamer.wire.frames import frame
from gossamer.wire.packets import (
    SUBACK,
    SUBSCRIBE,
    UNSUBACK,
    UNSUBSCRIBE,
    V5,
    Request,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
)
from gossamer.wire.properties import Properties
from gossamer.wire.property_codec import encode_properties, read_properties
from gossamer.wire.reason_table import (
    V311_SUBACK_FAILURE,
    V311_SUBACK_REASONS,
    check_reason,
)
from gossamer.wire.reasons import MALFORMED_PACKET, PROTOCOL_ERROR
from gossamer.wire.scalars import Reader, text, two_bytes

_QOS: Final = 0x03
_NO_LOCAL: Final = 0x04
_RETAIN_AS_PUBLISHED: Final = 0x08
_RETAIN_HANDLING: Final = 0x30
_RESERVED: Final = 0xC0

# SUBSCRIBE and UNSUBSCRIBE have fixed flags of 2. [MQTT-3.8.1-1], [MQTT-3.10.1-1]
_FLAGS: Final = 0x02


class FilterReader:
    """A SUBSCRIBE or an UNSUBSCRIBE whose filters are read one after another, as somebody has time
    for them: one packet may have a hundred thousand."""

    __slots__ = ("_first", "_reader", "_version", "packet_id", "properties")

    def __init__(self, kind: int, body: bytes, version: int, max_user_properties: int) -> None:
        reader = Reader(body, 0, len(body))
        self.packet_id = reader.packet_id()
        self.properties: Properties | None = None
        if version == V5:
            self.properties = read_properties(reader, kind, max_user_properties)
        if reader.at == reader.end:  # [MQTT-3.8.3-2], [MQTT-3.10.3-2]
            name = "SUBSCRIBE" if kind == SUBSCRIBE else "UNSUBSCRIBE"
            raise ProtocolError(PROTOCOL_ERROR, f"{name} without a topic filter")
        self._first = reader.at
        self._reader = reader
        self._version = version

    def size(self) -> int:
        return self._reader.end

    def has_more(self) -> bool:
        return self._reader.at < self._reader.end

    def rewind(self) -> None:
        """To the first filter."""
        self._reader.at = self._first

    def request(self) -> Request:
        """The next one of a SUBSCRIBE."""
        filter = self._reader.text("topic filter")  # [MQTT-3.8.3-1]
        return _request(filter, self._reader.byte("subscription options"), self._version)

    def filter(self) -> str:
        """The next one of an UNSUBSCRIBE."""
        return self._reader.text("topic filter")  # [MQTT-3.10.3-1]


def decode_subscribe(body: bytes, version: int, max_user_properties: int) -> Subscribe:
    reader = FilterReader(SUBSCRIBE, body, version, max_user_properties)
    requests: list[Request] = []
    while reader.has_more():
        requests.append(reader.request())
    return Subscribe(reader.packet_id, requests, reader.properties)


def _request(filter: str, options: int, version: int) -> Request:
    # [MQTT-3.8.3-5]; in 3.1.1 all but the QoS is reserved.
    if options & _RESERVED or (version != V5 and options & ~_QOS):
        raise ProtocolError(MALFORMED_PACKET, "reserved subscription options are set")
    qos = options & _QOS
    if qos == 3:
        raise ProtocolError(PROTOCOL_ERROR, "requested QoS is 3")
    retain_handling = (options & _RETAIN_HANDLING) >> 4
    if retain_handling == 3:
        raise ProtocolError(PROTOCOL_ERROR, "retain handling is 3")
    no_local = options & _NO_LOCAL != 0
    if no_local and filter.startswith("$share/"):  # [MQTT-3.8.3-4]
        raise ProtocolError(PROTOCOL_ERROR, "no local on a shared subscription")
    return Request(filter, qos, no_local, options & _RETAIN_AS_PUBLISHED != 0, retain_handling)


def encode_subscribe(packet: Subscribe, version: int) -> bytes:
    parts: list[bytes] = [two_bytes(packet.packet_id)]
    if version == V5:
        parts.append(encode_properties(packet.properties, SUBSCRIBE))
    for request in packet.requests:
        options = request.qos
        if version == V5:
            options |= request.retain_handling << 4
            if request.no_local:
                options |= _NO_LOCAL
            if request.retain_as_published:
                options |= _RETAIN_AS_PUBLISHED
        parts.append(text(request.filter))
        parts.append(bytes([options]))
    return frame(SUBSCRIBE << 4 | _FLAGS, b"".join(parts))


def decode_suback(body: bytes, version: int, max_user_properties: int) -> Suback:
    reader = Reader(body, 0, len(body))
    packet_id = reader.packet_id()
    properties = None
    if version == V5:
        properties = read_properties(reader, SUBACK, max_user_properties)
    reasons = _read_reasons(reader, SUBACK, version)
    return Suback(packet_id, reasons, properties)


def _read_reasons(reader: Reader, kind: int, version: int) -> list[int]:
    reasons = list(reader.body[reader.at :])
    if not reasons:
        raise ProtocolError(PROTOCOL_ERROR, "acknowledgement without a reason code")
    for reason in reasons:
        if version == V5:
            check_reason(kind, reason)
        elif reason not in V311_SUBACK_REASONS:  # [MQTT-3.9.3-2]
            raise ProtocolError(PROTOCOL_ERROR, f"return code 0x{reason:02x} is reserved")
    return reasons


def encode_suback(packet: Suback, version: int) -> bytes:
    body = two_bytes(packet.packet_id)
    if version == V5:
        block = encode_properties(packet.properties, SUBACK)
        return frame(SUBACK << 4, body + block + bytes(packet.reasons))
    codes = [min(reason, V311_SUBACK_FAILURE) for reason in packet.reasons]
    return frame(SUBACK << 4, body + bytes(codes))


def decode_unsubscribe(body: bytes, version: int, max_user_properties: int) -> Unsubscribe:
    reader = FilterReader(UNSUBSCRIBE, body, version, max_user_properties)
    filters: list[str] = []
    while reader.has_more():
        filters.append(reader.filter())
    return Unsubscribe(reader.packet_id, filters, reader.properties)


def encode_unsubscribe(packet: Unsubscribe, version: int) -> bytes:
    parts: list[bytes] = [two_bytes(packet.packet_id)]
    if version == V5:
        parts.append(encode_properties(packet.properties, UNSUBSCRIBE))
    for filter in packet.filters:
        parts.append(text(filter))
    return frame(UNSUBSCRIBE << 4 | _FLAGS, b"".join(parts))


def decode_unsuback(body: bytes, version: int, max_user_properties: int) -> Unsuback:
    reader = Reader(body, 0, len(body))
    packet_id = reader.packet_id()
    if version != V5:
        reader.finish()
        return Unsuback(packet_id, [])
    properties = read_properties(reader, UNSUBACK, max_user_properties)
    reasons = _read_reasons(reader, UNSUBACK, version)
    return Unsuback(packet_id, reasons, properties)


def encode_unsuback(packet: Unsuback, version: int) -> bytes:
    body = two_bytes(packet.packet_id)
    if version == V5:
        block = encode_properties(packet.properties, UNSUBACK)
        return frame(UNSUBACK << 4, body + block + bytes(packet.reasons))
    return frame(UNSUBACK << 4, body)
