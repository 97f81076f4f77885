"""Numbers in the wire form of a summary: seven bits a byte, the lowest first."""

from gossamer.bloom.errors import SummaryError

_MAX_BYTES = 9  # 63 bits: every number of the wire form fits a machine word.


class VarintReader:
    """Takes a message apart from its front; asking past its end is a `SummaryError`."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self.data):
            raise SummaryError("the summary ends too early")
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def left(self) -> int:
        return len(self.data) - self.at

    def number(self) -> int:
        value = 0
        for place in range(_MAX_BYTES):
            if self.at >= len(self.data):
                raise SummaryError("the summary ends too early")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return value
        raise SummaryError("a number in the summary is too long")


def put_number(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def put_gaps(out: bytearray, positions: list[int]) -> None:
    """Ascending positions, each as its distance from the one before."""
    put_number(out, len(positions))
    before = -1
    for position in positions:
        put_number(out, position - before - 1)
        before = position


def read_gaps(reader: VarintReader, size: int) -> list[int]:
    """What `put_gaps` wrote: ascending positions below `size`."""
    count = reader.number()
    if count > reader.left():
        raise SummaryError("the summary announces more bits than it holds")
    positions: list[int] = []
    before = -1
    for _ in range(count):
        before += reader.number() + 1
        if before >= size:
            raise SummaryError(f"bit {before} is outside of a summary of {size} bits")
        positions.append(before)
    return positions
