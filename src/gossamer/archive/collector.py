"""What is to be archived, collected as columns until the journal's transaction takes it away.

A run is a stretch of rows that differ in nothing but their payload: a publisher sends many messages
to one topic in one chunk, and then only the payload is noted for each. Offsets are given when a
block is written, so that what is never written leaves no gap.
"""

from typing import Final

from gossamer.broker.archive_port import ArchivePlace, ArchivePort

# A block is closed past this many bytes of payload: readers hold a whole block in memory.
MOST_BLOCK_BYTES: Final = 32 * 1024 * 1024

MICROSECONDS: Final = 1_000_000


class Block:
    """Rows by column. Row r belongs to the last run that starts at or before r.

    Of `pieces` each is a payload, or packets of one size that end with their payloads: what was
    read from a socket is kept as it came, and taken apart when it is written.
    """

    __slots__ = (
        "_known_sources",
        "_known_topics",
        "end",
        "extra_rows",
        "extras",
        "held",
        "packet_headers",
        "packet_pieces",
        "packet_sizes",
        "pieces",
        "rows",
        "run_flags",
        "run_sources",
        "run_starts",
        "run_times",
        "run_topics",
        "size",
        "sources",
        "topics",
    )

    def __init__(self) -> None:
        self.rows = 0
        self.pieces: list[bytes] = []
        self.packet_pieces: list[int] = []  # the indices of those that are packets
        self.packet_sizes: list[int] = []  # of each packet, in such a piece
        self.packet_headers: list[int] = []  # what stands before each payload
        self.size = 0  # bytes of all payloads
        self.held = 0  # bytes of all pieces
        self.run_starts: list[int] = []
        self.run_topics: list[int] = []  # index in `topics`
        self.run_sources: list[int] = []  # index in `sources`
        self.run_flags: list[int] = []  # QoS and RETAIN_FLAG
        self.run_times: list[int] = []  # microseconds
        self.topics: list[bytes] = []
        self.sources: list[tuple[str, str]] = []  # client id and user
        self.extra_rows: list[int] = []  # rows that have properties
        self.extras: list[bytes] = []  # their properties, as PUBLISH carries them
        self.end = ArchivePlace()  # where it ends, once it is written
        self._known_topics: dict[bytes, int] = {}
        self._known_sources: dict[tuple[str, str], int] = {}

    def begin_run(self, topic: bytes, publisher: str, user: str, flags: int, time: int) -> None:
        """The rows from here on."""
        index = self._known_topics.get(topic, -1)
        if index < 0:
            index = len(self.topics)
            self._known_topics[topic] = index
            self.topics.append(topic)
        source = (publisher, user)
        number = self._known_sources.get(source, -1)
        if number < 0:
            number = len(self.sources)
            self._known_sources[source] = number
            self.sources.append(source)
        self.run_starts.append(self.rows)
        self.run_topics.append(index)
        self.run_sources.append(number)
        self.run_flags.append(flags)
        self.run_times.append(time)


class Collector(ArchivePort):
    """Of a store's journal; every call is made on the core's thread."""

    __slots__ = (
        "_block",
        "_end",
        "_flags",
        "_full",
        "_now",
        "_publisher",
        "_topic",
        "_user",
        "_waiting",
        "keeps_publishers",
    )

    def __init__(self) -> None:
        super().__init__()
        self.keeps_publishers = True
        self._full: list[Block] = []
        self._block = Block()
        self._end = ArchivePlace()  # of the block that was closed last
        self._waiting = 0  # bytes held by the full blocks
        # The run that goes on; compared by identity, which is quick and errs to the safe side.
        self._topic = b""
        self._publisher = ""
        self._user = ""
        self._flags = -1
        self._now = 0.0

    def append(
        self,
        topic: bytes,
        payload: bytes,
        flags: int,
        publisher: str,
        user: str,
        now: float,
        properties: bytes = b"",
    ) -> bool:
        if not self._has_room(flags):
            self.dropped += 1
            return False
        self._go_on(topic, flags, publisher, user, now)
        block = self._block
        if properties:
            block.extra_rows.append(block.rows)
            block.extras.append(properties)
        block.pieces.append(payload)
        block.rows += 1
        block.size += len(payload)
        block.held += len(payload)
        self.archived += 1
        if block.size > MOST_BLOCK_BYTES:
            self._close_block()
        return True

    def append_run(
        self,
        topic: bytes,
        data: bytes,
        start: int,
        header: int,
        size: int,
        end: int,
        flags: int,
        publisher: str,
        user: str,
        now: float,
    ) -> bool:
        count = (end - start) // size
        if not self._has_room(flags):
            self.dropped += count
            return False
        self._go_on(topic, flags, publisher, user, now)
        block = self._block
        block.packet_pieces.append(len(block.pieces))
        block.packet_sizes.append(size)
        block.packet_headers.append(header)
        block.pieces.append(data[start:end])
        block.rows += count
        block.size += count * (size - header)
        block.held += end - start
        self.archived += count
        if block.size > MOST_BLOCK_BYTES:
            self._close_block()
        return True

    def begin_at(self, offset: int) -> None:
        """What is collected first will have that offset."""
        self._end = ArchivePlace(offset)

    def place(self) -> ArchivePlace:
        if self._block.rows:
            self._close_block()
        return self._end

    def waiting_bytes(self) -> int:
        return self._waiting + self._block.held

    def take(self) -> list[Block]:
        """What was collected, in order."""
        if self._block.rows:
            self._close_block()
        taken = self._full
        self._full = []
        self._waiting = 0
        return taken

    def _has_room(self, flags: int) -> bool:
        if not self.accepts:
            return False
        return flags & 3 != 0 or self.waiting_bytes() <= self.most_waiting

    def _go_on(self, topic: bytes, flags: int, publisher: str, user: str, now: float) -> None:
        """Begins another run where these are not those of the last."""
        if (
            topic is self._topic
            and publisher is self._publisher
            and user is self._user
            and flags == self._flags
            and now == self._now
        ):
            return
        self._topic = topic
        self._publisher = publisher
        self._user = user
        self._flags = flags
        self._now = now
        if not self.keeps_publishers:
            publisher = user = ""
        time = int((now + self.wall_offset) * MICROSECONDS)
        self._block.begin_run(topic, publisher, user, flags, time)

    def _close_block(self) -> None:
        self._full.append(self._block)
        self._end = self._block.end
        self._waiting += self._block.held
        self._block = Block()
        self._flags = -1
