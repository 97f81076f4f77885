"""A stream of bytes cut into packets: feed it what arrives, get back what is whole."""

from gossamer.wire.errors import ProtocolError
from gossamer.wire.frames import VARINT_MAX, header_length, packet_length
from gossamer.wire.reasons import PACKET_TOO_LARGE


class PacketStream:
    """Keeps only the unfinished packet; refuses one over `max_packet_size` before it arrives."""

    def __init__(self, max_packet_size: int = VARINT_MAX) -> None:
        self.max_packet_size = max_packet_size
        self._partial = bytearray()
        self._needed = 0  # length of the partial packet; 0 while its header is incomplete

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """The packets that `data` completes, in order: first byte and body."""
        if self._partial:
            self._partial += data
            if len(self._partial) < self._needed:
                return []
            data = bytes(self._partial)
        packets: list[tuple[int, bytes]] = []
        at = 0
        length = self._length(data, at)
        while length and at + length <= len(data):
            packets.append((data[at], data[at + header_length(data, at) : at + length]))
            at += length
            length = self._length(data, at)
        self._partial = bytearray(data[at:])
        self._needed = length
        return packets

    def _length(self, data: bytes, at: int) -> int:
        length = packet_length(data, at)
        if length > self.max_packet_size:
            raise ProtocolError(
                PACKET_TOO_LARGE, f"packet of {length} bytes is over {self.max_packet_size}"
            )
        return length
