"""An archive in memory, and readers of it that answer when a test says so."""

from bisect import bisect_right

from gossamer.archive.collector import Block, Collector
from gossamer.broker.catch_up import CatchUpPort, CatchUpRequest
from gossamer.topics.names import matches
from gossamer.wire.packets import PUBLISH
from gossamer.wire.property_codec import read_properties
from gossamer.wire.scalars import Reader

Row = tuple[float, str, bytes, int | None]


class RowsInMemory:
    """What was collected, as a reader would get it."""

    def __init__(self) -> None:
        self.collector = Collector()
        self.collector.begin_at(0)
        self.rows: list[Row] = []

    def write(self) -> None:
        for block in self.collector.take():
            extras = dict(zip(block.extra_rows, block.extras, strict=True))
            for number, payload in enumerate(_payloads(block)):
                run = bisect_right(block.run_starts, number) - 1
                topic = block.topics[block.run_topics[run]].decode()
                expiry = None
                if number in extras:
                    reader = Reader(extras[number], 0, len(extras[number]))
                    read = read_properties(reader, PUBLISH, 100)
                    expiry = None if read is None else read.message_expiry
                self.rows.append((block.run_times[run] / 1e6, topic, payload, expiry))
            block.end.offset = len(self.rows)


def _payloads(block: Block) -> list[bytes]:
    packets = zip(block.packet_pieces, block.packet_sizes, block.packet_headers, strict=True)
    forms = {piece: (size, header) for piece, size, header in packets}
    found: list[bytes] = []
    for number, piece in enumerate(block.pieces):
        size, header = forms.get(number, (len(piece), 0))
        if size:
            found += [piece[at + header : at + size] for at in range(0, len(piece), size)]
        else:
            found.append(b"")
    return found


class Readers(CatchUpPort):
    """Asked, and answering when the test says so."""

    def __init__(self, archive: RowsInMemory) -> None:
        super().__init__()
        self.archive = archive
        self.asked: list[CatchUpRequest] = []

    def start(self, request: CatchUpRequest) -> None:
        self.asked.append(request)

    def read(self, request: CatchUpRequest) -> None:
        self.archive.write()
        for time, topic, payload, expiry in self.archive.rows[: request.place.offset]:
            is_wanted = any(matches(read, topic) for read in request.reads)
            if is_wanted and request.start <= time < request.end:
                request.past.take(topic, payload, time, expiry, None, [])
