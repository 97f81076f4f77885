"""The outgoing half of a connection: chunks collected in a turn, written once at its end; and the
packet identifiers that are in flight on it alone.

Output that promises something durable is held until the transaction that makes it true has
committed; held chunks keep their order.
"""

from __future__ import annotations

from typing import Final

from librt.strings import BytesWriter, write_i32_be
from librt.vecs import append, vec
from mypy_extensions import i32, i64, u8

from gossamer.budget.ledger import Account, Owner
from gossamer.session.aliases import TopicAliases
from gossamer.session.hub import Hub
from gossamer.session.message import Message
from gossamer.session.publish_run import PublishRun
from gossamer.session.publisher import told_publisher
from gossamer.session.sink import Sink
from gossamer.session.subscription import NO_IDENTIFIERS
from gossamer.wire.compression import Compressor
from gossamer.wire.packets import V5
from gossamer.wire.publish_codec import (
    ACKNOWLEDGEMENT_BYTES,
    IDENTIFIERS,
    PUBACK_HEAD,
    PUBREC_HEAD,
    PUBREL_START,
)

# An answer of five bytes: head, packet identifier, and the reason NO_MATCHING_SUBSCRIBERS.
UNWANTED_BYTES: Final = 5
_UNWANTED_PUBACK: Final = b"\x40\x03"
_UNWANTED_PUBREC: Final = b"\x50\x03"
_UNWANTED: Final = b"\x10"

# How far an identifier has come.
SENT_ONCE: Final = 1  # at QoS 1, no PUBACK yet
SENT_EXACTLY: Final = 2  # at QoS 2, no PUBREC yet
AWAITS_PUBCOMP: Final = 3

LAST_IDENTIFIER: Final = 65_535
_STATE_BITS: Final = 2  # a slot has the identifier, and behind it these; 0 if it is free
_FEWEST_SLOTS: Final = 64
_MOST_SLOTS: Final = 65_536
# A table this long is given up when it is empty and so much longer than it need be.
_LONG: Final = 1_024
_TOO_LONG: Final = 16


class NumbersInFlight:
    """What a session that ends with this connection has in flight: packet identifiers, and no more.

    Such a session never sends a message twice, so of what it sent only the identifier is needed,
    and how far the client has come with it. Whole runs of messages and of their acknowledgements
    pass through here in one loop each, which the compiler makes of it as it stands: the numbers in
    these loops are the machine's own.

    Identifiers are given out in turn, so those in use lie close together, and a table of twice as
    many slots as there are is enough: each identifier has one slot, the same for all that are equal
    in their last bits. One whose slot is taken is passed over, as one that is in use itself.
    """

    __slots__ = ("_slots", "count")

    def __init__(self) -> None:
        self._slots = vec[i32]()  # a power of two
        self.count = 0

    def state(self, packet_id: int) -> int:
        """0 if it is not in flight."""
        size: i64 = len(self._slots)
        number: i64 = packet_id
        if size == 0:
            return 0
        slot = i64(self._slots[number & (size - 1)])
        return int(slot & 3) if slot >> _STATE_BITS == number else 0

    def is_free(self, packet_id: int, needs_slot: bool) -> bool:
        """Whether it is not in flight here, and its slot not another one's."""
        size: i64 = len(self._slots)
        number: i64 = packet_id
        if size == 0:
            return True
        slot = i64(self._slots[number & (size - 1)])
        return slot == 0 or (not needs_slot and slot >> _STATE_BITS != number)

    def reserve(self, count: int) -> None:
        """Makes room for so many more."""
        needed = 2 * (self.count + count)
        size = len(self._slots)
        is_left_over = self.count == 0 and size > _LONG and size > _TOO_LONG * needed
        if is_left_over or (size < needed and size < _MOST_SLOTS):
            self._resize(needed)

    def _resize(self, needed: int) -> None:
        size: i64 = _FEWEST_SLOTS
        while size < needed and size < _MOST_SLOTS:
            size *= 2
        before = self._slots
        slots = vec[i32](capacity=size)
        while len(slots) < size:
            slots = append(slots, 0)
        for slot in before:
            if slot:
                slots[i64(slot >> _STATE_BITS) & (size - 1)] = slot
        self._slots = slots

    def free_from(self, first: int, most: int) -> int:
        """How many identifiers from `first` on are free, up to so many; they were reserved."""
        slots = self._slots
        mask: i64 = len(slots) - 1
        number: i64 = first
        end: i64 = min(first + most - 1, LAST_IDENTIFIER)
        while number <= end and slots[number & mask] == 0:
            number += 1
        return int(number) - first

    def put(self, first: int, count: int, state: int) -> None:
        """So many from `first` on are in flight; all were free, and reserved."""
        slots = self._slots
        mask: i64 = len(slots) - 1
        number: i64 = first
        end: i64 = first + count
        while number < end:
            slots[number & mask] = i32(number << _STATE_BITS | i64(state))
            number += 1
        self.count += count

    def free(self, packet_id: int) -> None:
        """One that is in flight."""
        self._slots[packet_id & (len(self._slots) - 1)] = 0
        self.count -= 1

    def complete(self, data: bytes, start: int, state: int) -> int:
        """Frees what the acknowledgements at `start` are for, as long as they are of one kind and
        theirs are in that state; answers where that ends."""
        slots = self._slots
        mask: i64 = len(slots) - 1
        if mask < 0:
            return start
        awaited: i64 = state
        at: i64 = start
        end: i64 = len(data) - ACKNOWLEDGEMENT_BYTES
        head = data[at]
        while at <= end and data[at] == head and data[at + 1] == 2:
            number: i64 = data[at + 2] << 8 | data[at + 3]
            if slots[number & mask] != i32(number << _STATE_BITS | awaited):
                break
            slots[number & mask] = 0
            at += ACKNOWLEDGEMENT_BYTES
        self.count -= (int(at) - start) // ACKNOWLEDGEMENT_BYTES
        return int(at)

    def receive(self, data: bytes, start: int, answers: BytesWriter) -> int:
        """The same for PUBREC, a repeated one too: each is answered with PUBREL, and waits for its
        PUBCOMP now."""
        slots = self._slots
        mask: i64 = len(slots) - 1
        if mask < 0:
            return start
        at: i64 = start
        end: i64 = len(data) - ACKNOWLEDGEMENT_BYTES
        head = data[at]
        while at <= end and data[at] == head and data[at + 1] == 2:
            number: i64 = data[at + 2] << 8 | data[at + 3]
            released = i32(number << _STATE_BITS | AWAITS_PUBCOMP)
            slot = slots[number & mask]
            if slot != released and slot != i32(number << _STATE_BITS | SENT_EXACTLY):
                break
            slots[number & mask] = released
            write_i32_be(answers, i32(PUBREL_START | number))
            at += ACKNOWLEDGEMENT_BYTES
        return int(at)


class Outbox:
    """Collects what goes to one client."""

    __slots__ = (
        "_gate",
        "_held_batches",
        "_held_chunks",
        "aliases",
        "blocked",
        "bytes_sent",
        "chunks",
        "closed",
        "compressor",
        "hub",
        "maximum_packet",
        "messages",
        "messages_sent",
        "names",
        "numbers",
        "pending",
        "publishers",
        "sink",
        "size",
        "token",
        "unsent",
        "version",
    )

    def __init__(self, hub: Hub, sink: Sink, version: int, token: int) -> None:
        self.hub = hub
        self.sink = sink
        self.token = token  # the connection's number
        self.chunks: list[bytes] = []
        self.size = 0
        self.messages = 0  # PUBLISH packets among the chunks
        self.bytes_sent = 0
        self.messages_sent = 0
        # In flight of a session that remembers no more than that.
        self.numbers: NumbersInFlight | None = None
        self.unsent = 0  # bytes that the socket has not taken, while it is behind
        self.aliases: TopicAliases | None = None  # if the client takes any
        self._gate = 0  # the transaction before which nothing at all goes out, 0 for none
        self._held_batches: list[int] | None = None
        self._held_chunks: list[bytes] | None = None
        self.compressor: Compressor | None = None  # of a link that is compressed
        self.maximum_packet = 268_435_460  # more than the protocol's largest packet
        # A byte each, and so together: between wider fields each would take eight.
        self.version: u8 = version
        self.names = False  # whether messages are sent with their names: to a neighbour
        self.publishers = False  # whether it is told who published, where that says where it is
        self.pending = False  # whether the hub knows that there is something to write
        self.blocked = False  # the socket does not take more; the shell says so
        self.closed = False

    def send(
        self,
        message: Message,
        qos: int,
        retain: bool,
        dup: bool,
        packet_id: int,
        identifiers: list[int],
        now: float,
    ) -> bool:
        """A PUBLISH, in the encoding all receivers share if it can be.

        False if the packet is over the client's maximum, and so was not sent [MQTT-3.1.2-24].
        """
        if retain or dup or identifiers or message.expires_at or self.aliases is not None:
            return self._send_special(message, qos, retain, dup, packet_id, identifiers, now)
        properties = message.properties
        if (
            self.publishers
            and properties is not None
            and told_publisher(message.publisher, properties)
        ):
            return self._send_special(message, qos, retain, dup, packet_id, identifiers, now)
        version = self.version
        is_named = self.names and message.name != b""
        head = message.named_head(qos) if is_named else message.head(version, qos)
        if qos == 0:
            if len(head) > self.maximum_packet:
                return False
            self.messages += 1
            self.put(head)
            return True
        tail = message.named_tail() if is_named else message.tail(version)
        if len(head) + 2 + len(tail) > self.maximum_packet:
            return False
        self.messages += message.count() if is_named else 1
        if qos == 1:
            self.put(head)
            self.put(IDENTIFIERS[packet_id])
            self.put(tail)
        else:
            # Exactly once: the identifier must be on disk before the client sees it.
            self.put_promise(head + IDENTIFIERS[packet_id] + tail)
        return True

    def send_run(self, run: PublishRun, qos: int, start: int, count: int, first: int) -> None:
        """So many messages of the run, without those before `start`, as `send` would send each
        under one of the identifiers from `first` on."""
        self.messages += count
        packets = run.numbered(self.version, qos, start, count, first)
        if qos == 1:
            self.put(packets)
        else:
            self.put_promise(packets)

    def _send_special(
        self,
        message: Message,
        qos: int,
        retain: bool,
        dup: bool,
        packet_id: int,
        identifiers: list[int],
        now: float,
    ) -> bool:
        """With flags, remaining expiry, identifiers or an alias that fit this receiver only."""
        aliases = self.aliases
        alias = 0
        is_known = False
        if aliases is not None:
            alias = aliases.number_of(message.topic)
            is_known = alias != 0
            # What waits for a commit must not be the first to name a topic that others use.
            if not is_known and qos != 2:
                alias = aliases.free_number(message.topic)
        packet = message.own_packet(
            self.version,
            qos,
            retain,
            dup,
            packet_id,
            identifiers if self.version == V5 else NO_IDENTIFIERS,
            alias,
            is_known,
            now,
            message.name if self.names else b"",
            told_publisher(message.publisher, message.properties) if self.publishers else b"",
        )
        if len(packet) > self.maximum_packet:
            return False
        if aliases is not None and alias and not is_known:
            aliases.introduce(message.topic, alias)
        self.messages += message.count() if self.names else 1
        if qos == 2:
            self.put_promise(packet)
        else:
            self.put(packet)
        return True

    def use_aliases(self, most: int, account: Account, owner: Owner) -> None:
        """The client takes as many: [MQTT-3.1.2-26]; without it none are sent: [MQTT-3.1.2-27]"""
        self.aliases = TopicAliases(most, account, owner)

    def drop_aliases(self) -> None:
        """The connection that they belonged to has ended [MQTT-3.3.2-7]."""
        if self.aliases is not None:
            self.aliases.close()
            self.aliases = None

    def put(self, chunk: bytes) -> None:
        if not self.pending:
            self.pending = True
            self.hub.dirty.append(self)
        self.chunks.append(chunk)
        self.size += len(chunk)

    def put_promise(self, chunk: bytes) -> None:
        """Output that is true only once everything told to the journal so far is on disk.

        That includes the transaction being written: an answer to a repeated packet promises what
        an earlier turn changed.
        """
        hub = self.hub
        journal = hub.journal
        if not journal.durable:
            self.put(chunk)
            return
        needed = journal.batch - 1
        if journal.dirty:
            needed = journal.batch
            journal.is_awaited = True
        held = self._held_chunks
        if held is None:
            # Behind the gate everything waits for that transaction, and so keeps its order.
            if needed <= hub.last_committed or needed <= self._gate:
                self.put(chunk)
                return
            held = []
            self._held_chunks = held
            self._held_batches = []
            if not self._gate:
                hub.holding.append(self)
        batches = self._held_batches
        assert batches is not None
        held.append(chunk)
        batches.append(needed)

    def acknowledge(
        self, qos: int, packet_id: int, is_kept: bool = True, is_wanted: bool = True
    ) -> None:
        """PUBACK or PUBREC without a reason [MQTT-2.2.1-5], or with that of a 5.0 publication that
        nobody wants; a promise, if something is kept."""
        if is_wanted:
            answer = (PUBACK_HEAD if qos == 1 else PUBREC_HEAD) + IDENTIFIERS[packet_id]
        else:
            # Said as often as clients publish: not worth a packet to encode.
            head = _UNWANTED_PUBACK if qos == 1 else _UNWANTED_PUBREC
            answer = head + IDENTIFIERS[packet_id] + _UNWANTED
        if is_kept:
            self.put_promise(answer)
        else:
            self.put_in_order(answer)

    def put_in_order(self, chunk: bytes) -> None:
        """Output that promises nothing: it waits only to keep its place behind what waits."""
        held = self._held_chunks
        batches = self._held_batches
        if held is None or batches is None:
            self.put(chunk)
            return
        held.append(chunk)
        batches.append(batches[-1])

    def hold_back(self) -> None:
        """Nothing more goes out before the changes of this turn are on disk."""
        journal = self.hub.journal
        if journal.durable and journal.dirty and not self._gate:
            self._gate = journal.batch
            journal.is_awaited = True
            self.pending = True  # the hub hears of it when the transaction is committed
            if self._held_chunks is None:
                self.hub.holding.append(self)

    def has_promises(self) -> bool:
        """Whether something waits for a transaction."""
        return self._held_chunks is not None

    def release(self, batch: int) -> bool:
        """Moves what waited for `batch` to the chunks; tells whether something still waits."""
        if self._gate:
            if self._gate > batch and not self.closed:
                return True
            self._gate = 0
            self.hub.dirty.append(self)
        batches = self._held_batches
        held = self._held_chunks
        if batches is None or held is None:
            return False
        count = 0
        for needed in batches:
            if needed > batch:
                break
            count += 1
        if self.closed or count == len(held):
            ready = held
            self._held_chunks = None
            self._held_batches = None
        else:
            ready = held[:count]
            self._held_chunks = held[count:]
            self._held_batches = batches[count:]
        if not self.closed:
            for chunk in ready:
                self.put(chunk)
        return self._held_chunks is not None

    def waiting_bytes(self) -> int:
        """Of what is collected, and of what waits for the disk or to be compressed."""
        held = self._held_chunks
        compressor = self.compressor
        waiting = self.size + (0 if compressor is None else compressor.waiting)
        return waiting + (0 if held is None else sum([len(chunk) for chunk in held]))

    def is_behind(self, unsent: int, most: int) -> bool:
        """The socket has not taken so many bytes; whether it is to get no more for now.

        That is past `most` of one client and, of those that are behind, past the budget of all.
        """
        account = self.hub.unsent
        account.held += unsent - self.unsent
        self.unsent = unsent
        if unsent > most:
            return True
        if unsent and account.held > account.budget:
            account.refused += 1
            return True
        return False

    def flush(self) -> None:
        """Writes everything collected, in one go."""
        if self._gate:
            return
        self.pending = False
        chunks = self.chunks
        if not chunks:
            if self.compressor is not None:
                self._compress(self.compressor, b"")
            return
        data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        self.chunks = []
        counters = self.hub.counters
        counters.bytes_sent += self.size
        counters.messages_sent += self.messages
        self.bytes_sent += self.size
        self.messages_sent += self.messages
        self.size = 0
        self.messages = 0
        if self.compressor is not None:
            self._compress(self.compressor, data)
        elif not self.closed:
            self.sink.write(data)

    def compress(self, announcement: bytes) -> None:
        """What is written next is the last that goes as it is, with this announcement behind it."""
        self.compressor = Compressor(announcement)

    def _compress(self, compressor: Compressor, data: bytes) -> None:
        """Writes one part; if there is more, the rest has turns of its own."""
        if self.closed:
            return
        announcement = compressor.announcement
        if announcement:
            compressor.announcement = b""
            self.bytes_sent += len(announcement)
            self.sink.write(data + announcement)
            return
        compressor.give(data)
        if compressor.waiting:
            self.sink.write(compressor.take())
        if compressor.waiting:
            self.pending = True
            self.hub.unwritten.append(self)

    def finish(self) -> None:
        """Writes everything, and nothing after that."""
        self.flush()
        compressor = self.compressor
        while compressor is not None and compressor.waiting and not self._gate:
            self.sink.write(compressor.take())
        self.closed = True
