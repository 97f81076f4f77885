"""The outgoing half of a connection: chunks collected in a turn, written once at its end.

Output that promises something durable is held until the transaction that makes it true has
committed; held chunks keep their order.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

from gossamer.budget.ledger import Account, Owner
from gossamer.session.aliases import TopicAliases
from gossamer.session.counters import Counters, Faults
from gossamer.session.journal import Journal
from gossamer.session.message import Message, MessageNamer
from gossamer.session.onward_acks import Passing
from gossamer.session.queue_policy import UNBOUNDED, Deliveries, Guard, QueueRefused
from gossamer.session.subscription import NO_IDENTIFIERS
from gossamer.wire.packets import V5
from gossamer.wire.publish_codec import IDENTIFIERS, PUBACK_HEAD, PUBREC_HEAD

if TYPE_CHECKING:
    from gossamer.session.session import Session

# An answer of five bytes: head, packet identifier, and the reason NO_MATCHING_SUBSCRIBERS.
UNWANTED_BYTES: Final = 5
_UNWANTED_PUBACK: Final = b"\x40\x03"
_UNWANTED_PUBREC: Final = b"\x50\x03"
_UNWANTED: Final = b"\x10"


@mypyc_attr(allow_interpreted_subclasses=True)
class Sink:
    """The shell's end of a connection: it moves bytes and knows nothing of MQTT."""

    def write(self, data: bytes) -> None:
        """Sends, or buffers what the socket does not take now."""

    def close(self) -> None:
        """Closes once everything written has been sent."""

    def abort(self) -> None:
        """Closes now; what was not sent is lost."""

    def welcomed(self) -> None:
        """The client has logged in."""

    def unsent_bytes(self) -> int:
        """Of what it was given to write."""
        return 0

    def unread_bytes(self) -> int:
        """Of what it has received, and not handed on."""
        return 0

    def takes_turns(self) -> bool:
        """Whether it comes back for what is more than one turn; or else all is done at once."""
        return False

    def settle(self) -> None:
        """The client is back on another connection: if this one is lost, all that was received is
        handled now."""

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Hub:
    """What all outboxes and sessions of one broker share."""

    __slots__ = (
        "counters",
        "crowded",
        "deliveries",
        "dirty",
        "faults",
        "full",
        "guard",
        "holding",
        "journal",
        "last_committed",
        "namer",
        "owing",
        "passing",
        "refusing",
        "stalled",
        "starving",
        "unsent",
        "unwritten",
        "waiting",
    )

    def __init__(self, journal: Journal, counters: Counters) -> None:
        self.journal = journal
        self.counters = counters
        self.faults = Faults()
        self.deliveries = Deliveries()
        self.unsent = Account("unsent", UNBOUNDED)  # output that sockets have not taken
        self.crowded: dict[Session, None] = {}  # wait for room in memory for what they spilled
        self.dirty: list[Outbox] = []
        self.unwritten: deque[Outbox] = deque()  # were dirty in a turn that had too many of them
        self.holding: list[Outbox] = []
        self.last_committed = 0
        self.namer = MessageNamer()
        # Have room for retained messages that they are owed.
        self.owing: dict[Session, None] = {}
        self.guard = Guard()
        self.passing = Passing()
        self.starving: list[Session] = []  # wait for the store to give back what they spilled
        self.full: dict[Session, None] = {}  # queues that are, or were a moment ago
        self.refusing: list[QueueRefused] = []  # by the message that is being distributed
        self.waiting: dict[Session, None] = {}  # their queues were cut off by the size of a turn
        self.stalled: list[Session] = []  # as `waiting`, until the next transaction is on disk

    def committed(self, batch: int) -> None:
        """Lets go of everything that waited for this transaction or an earlier one."""
        self.last_committed = batch
        for session in self.stalled:
            self.waiting[session] = None
        self.stalled = []
        still: list[Outbox] = []
        for outbox in self.holding:
            if outbox.release(batch):
                still.append(outbox)
        self.holding = still


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
        "hub",
        "maximum_packet",
        "messages",
        "messages_sent",
        "names",
        "pending",
        "sink",
        "size",
        "token",
        "unsent",
        "version",
    )

    def __init__(self, hub: Hub, sink: Sink, version: int, token: int) -> None:
        self.hub = hub
        self.sink = sink
        self.version = version
        self.token = token  # the connection's number
        self.maximum_packet = 268_435_460  # more than the protocol's largest packet
        self.chunks: list[bytes] = []
        self.size = 0
        self.messages = 0  # PUBLISH packets among the chunks
        self.bytes_sent = 0
        self.messages_sent = 0
        self.names = False  # whether messages are sent with their names: to a neighbour
        self.pending = False  # whether the hub knows that there is something to write
        self.blocked = False  # the socket does not take more; the shell says so
        self.unsent = 0  # bytes that it has not taken, while it is behind
        self.closed = False
        self.aliases: TopicAliases | None = None  # if the client takes any
        self._gate = 0  # the transaction before which nothing at all goes out, 0 for none
        self._held_batches: list[int] | None = None
        self._held_chunks: list[bytes] | None = None

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
        self.messages += 1
        if qos == 1:
            self.put(head)
            self.put(IDENTIFIERS[packet_id])
            self.put(tail)
        else:
            # Exactly once: the identifier must be on disk before the client sees it.
            self.put_promise(head + IDENTIFIERS[packet_id] + tail)
        return True

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
        )
        if len(packet) > self.maximum_packet:
            return False
        if aliases is not None and alias and not is_known:
            aliases.introduce(message.topic, alias)
        self.messages += 1
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
        needed = journal.batch if journal.dirty else journal.batch - 1
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
            self.pending = True  # the hub hears of it when the transaction is committed
            if self._held_chunks is None:
                self.hub.holding.append(self)

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
        """Of what is collected, and of what waits for the disk."""
        held = self._held_chunks
        return self.size + (0 if held is None else sum([len(chunk) for chunk in held]))

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
        if not self.closed:
            self.sink.write(data)
