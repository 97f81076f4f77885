"""The few MQTT 3.1.1 packets of the generator, encoded ahead, and answers to whole runs of them.

This is not the broker's codec on purpose: a generator that shares code with one of the brokers it
measures would share its mistakes, and it must cost less than what it measures.

Packets of one kind have one size, so that a chunk is a sequence of runs: the heads of a run are a
strided slice, and its packet identifiers are two more. No loop goes over single packets.
"""

from collections.abc import Sequence
from typing import Final

CONNACK: Final = b"\x20\x02\x00\x00"
CONNACK_RESUMED: Final = b"\x20\x02\x01\x00"
DISCONNECT: Final = b"\xe0\x00"

PUBLISH_QOS_1: Final = 0x32
PUBLISH_QOS_2: Final = 0x34
PUBACK: Final = 0x40
PUBREC: Final = 0x50
PUBREL: Final = 0x62
PUBCOMP: Final = 0x70
UNSUBACK: Final = 0xB0
ACK_SIZE: Final = 4

# An idle or slow moment of the run must not make a broker drop a connection.
KEEP_ALIVE_SECONDS: Final = 3600

# A run is looked for this many packets ahead: alternating packets must not make it quadratic.
RUN_LIMIT: Final = 256

ANSWERS: Final = {
    PUBREC: PUBREL,
    PUBREL: PUBCOMP,
    PUBLISH_QOS_1: PUBACK,
    PUBLISH_QOS_2: PUBREC,
}


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


def unsubscribe(packet_id: int, filter: str) -> bytes:
    return _packet(0xA2, packet_id.to_bytes(2, "big") + _text(filter))


def suback_size(filters: int) -> int:
    return len(_packet(0x90, bytes(2 + filters)))


def publish(
    topic: str, payload: bytes, qos: int = 0, packet_id: int = 0, *, retain: bool = False
) -> bytes:
    identity = packet_id.to_bytes(2, "big") if qos else b""
    return _packet(0x30 | qos << 1 | retain, _text(topic) + identity + payload)


def packet_id_offset(topic: str, packet_size: int) -> int:
    """Where the packet identifier is in a PUBLISH of this topic and size."""
    length_bytes = 1 if packet_size <= 2 + 127 else 2
    return 1 + length_bytes + 2 + len(topic.encode())


def run_length(data: bytes, start: int, size: int) -> int:
    """How many whole packets of ``size`` bytes with the same first byte begin at ``start``."""
    whole = min((len(data) - start) // size, RUN_LIMIT)
    heads = data[start : start + whole * size : size]
    return whole - len(heads.lstrip(data[start : start + 1]))


def answer_run(data: bytes, start: int, size: int, count: int, id_offset: int, kind: int) -> bytes:
    """``count`` acknowledgements of ``kind`` for the packets that begin at ``start``."""
    first = start + id_offset
    end = start + count * size
    answers = bytearray(ACK_SIZE * count)
    answers[0::4] = bytes((kind,)) * count
    answers[1::4] = b"\x02" * count
    answers[2::4] = data[first:end:size]
    answers[3::4] = data[first + 1 : end : size]
    return bytes(answers)


class AckReceiver:
    """Reads one connection's stream of fixed-size packets, counts them and answers them."""

    __slots__ = ("acknowledged", "completing", "delivered", "id_offset", "rest", "size")

    def __init__(self, publish_size: int, id_offset: int, completing: int) -> None:
        self.size = publish_size
        self.id_offset = id_offset
        self.completing = completing
        self.delivered = 0
        self.acknowledged = 0
        self.rest = b""

    def feed(self, chunk: bytes) -> bytes:
        """What to answer to ``chunk``; the counts are up to date afterwards."""
        data = self.rest + chunk if self.rest else chunk
        answers = []
        position = 0
        while position < len(data):
            head = data[position]
            is_publish = head & 0xF0 == 0x30
            size = self.size if is_publish else ACK_SIZE
            count = run_length(data, position, size)
            if count == 0:
                break
            if is_publish:
                self.delivered += count
            elif head == self.completing:
                self.acknowledged += count
            kind = ANSWERS.get(head)
            if kind is not None:
                offset = self.id_offset if is_publish else 2
                answers.append(answer_run(data, position, size, count, offset, kind))
            position += count * size
        self.rest = data[position:]
        return b"".join(answers)
