"""The few MQTT 3.1.1 packets that the generator sends, encoded ahead of the run.

This is not the broker's codec on purpose: a generator that shares code with one of the brokers it
measures would share its mistakes.
"""

from collections.abc import Sequence
from typing import Final

CONNACK: Final = b"\x20\x02\x00\x00"
CONNACK_RESUMED: Final = b"\x20\x02\x01\x00"
DISCONNECT: Final = b"\xe0\x00"

PUBACK: Final = 0x40
PUBREC: Final = 0x50
PUBREL: Final = 0x62
PUBCOMP: Final = 0x70
ACK_SIZE: Final = 4

# An idle or slow moment of the run must not make a broker drop a connection.
KEEP_ALIVE_SECONDS: Final = 3600


def _text(value: str) -> bytes:
    data = value.encode()
    return len(data).to_bytes(2, "big") + data


def _packet(head: int, body: bytes) -> bytes:
    rest = len(body)
    length = bytearray()
    while True:
        rest, digit = rest >> 7, rest & 0x7F
        length.append(digit | 0x80 if rest else digit)
        if not rest:
            return bytes([head]) + bytes(length) + body


def connect(client_id: str, *, clean: bool = True) -> bytes:
    clean_session = b"\x02" if clean else b"\x00"
    keep_alive = KEEP_ALIVE_SECONDS.to_bytes(2, "big")
    return _packet(0x10, _text("MQTT") + b"\x04" + clean_session + keep_alive + _text(client_id))


def subscribe(packet_id: int, filters: Sequence[str], qos: int) -> bytes:
    wishes = b"".join(_text(name) + bytes([qos]) for name in filters)
    return _packet(0x82, packet_id.to_bytes(2, "big") + wishes)


def suback_size(filters: int) -> int:
    return len(_packet(0x90, bytes(2 + filters)))


def publish(topic: str, payload: bytes, qos: int = 0, packet_id: int = 0) -> bytes:
    identity = packet_id.to_bytes(2, "big") if qos else b""
    return _packet(0x30 | qos << 1, _text(topic) + identity + payload)


def packet_id_offset(topic: str, packet_size: int) -> int:
    """Where the packet identifier is in a PUBLISH of this topic and size."""
    length_bytes = 1 if packet_size <= 2 + 127 else 2
    return 1 + length_bytes + 2 + len(topic.encode())
