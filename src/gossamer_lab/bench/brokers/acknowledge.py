"""Answers to whole runs of packets at once, so that QoS 1 and 2 cost the generator little.

Packets of one kind have one size, so that a chunk is a sequence of runs: the heads of a run are a
strided slice, and its packet identifiers are two more. No loop goes over single packets.
"""

from gossamer_lab.bench.brokers import mqtt

# A run is looked for this many packets ahead: alternating packets must not make it quadratic.
RUN_LIMIT = 256

ANSWERS = {
    mqtt.PUBREC: mqtt.PUBREL,
    mqtt.PUBREL: mqtt.PUBCOMP,
    0x32: mqtt.PUBACK,
    0x34: mqtt.PUBREC,
}


def run_length(data: bytes, start: int, size: int) -> int:
    """How many whole packets of ``size`` bytes with the same first byte begin at ``start``."""
    whole = min((len(data) - start) // size, RUN_LIMIT)
    heads = data[start : start + whole * size : size]
    return whole - len(heads.lstrip(data[start : start + 1]))


def answer_run(data: bytes, start: int, size: int, count: int, id_offset: int, kind: int) -> bytes:
    """``count`` acknowledgements of ``kind`` for the packets that begin at ``start``."""
    first = start + id_offset
    end = start + count * size
    answers = bytearray(mqtt.ACK_SIZE * count)
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
            size = self.size if is_publish else mqtt.ACK_SIZE
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
