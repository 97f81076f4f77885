"""Clients and a broker in memory, crashed at any point between bytes, commits and answers.

What `gossamer torture` does with processes, this does with a seed: every history can be repeated.
"""

import random

from gossamer.broker.connection import Connection
from gossamer.broker.policy import Origin
from gossamer.client.protocol import ClientProtocol
from gossamer.storage.batch import Batch
from gossamer.wire.packets import Acknowledgement, Connack, Connect, Packet, Publish, Request
from gossamer_lab.torture.clients import lasting
from gossamer_lab.torture.ledger import DeliveryLedger, MessageKey
from tests.support.durable_world import DurableWorld
from tests.support.memory import MemorySink

STREAMS = {"q1": 1, "q2": 2}


class Peer:
    """One client whose bytes arrive late and in pieces."""

    def __init__(self, history: "CrashHistory", name: str) -> None:
        self.history = history
        self.name = name
        self.protocol = ClientProtocol(Connect(name, clean_start=False, properties=lasting()))
        self.sink: MemorySink | None = None
        self.connection: Connection | None = None
        self.to_broker = b""
        self.confirmed = False
        self.in_flight: dict[int, MessageKey] = {}

    def connect(self) -> None:
        world = self.history.world
        self.sink = MemorySink()
        self.connection = world.broker.open(self.sink, Origin("127.0.0.1", "test"), world.now)
        self.protocol.open()

    def disconnected(self) -> None:
        self.sink = self.connection = None
        self.to_broker = b""
        self.protocol.lost()

    def lose(self) -> None:
        if self.connection is not None:
            self.connection.lost(self.history.world.now)
            self.disconnected()

    def send_some(self, size: int) -> None:
        """A piece of what the client has to say reaches the broker."""
        if self.connection is None:
            return
        self.to_broker += self.protocol.take()
        if self.to_broker:
            piece, self.to_broker = self.to_broker[:size], self.to_broker[size:]
            self.connection.receive(piece, self.history.world.now)
            self.history.world.broker.flush(self.history.world.now)

    def receive_some(self, size: int) -> None:
        if self.sink is not None and self.sink.data:
            piece, self.sink.data = self.sink.data[:size], self.sink.data[size:]
            for packet in self.protocol.receive(piece):
                self.seen(packet)

    def publish(self, stream: str) -> None:
        if self.protocol.connected and len(self.in_flight) < 10:
            key = self.history.ledger.next_key(stream)
            packet_id = self.protocol.publish("load", key.payload(20), STREAMS[stream])
            self.in_flight[packet_id] = key

    def seen(self, packet: Packet) -> None:
        ledger = self.history.ledger
        if isinstance(packet, Publish):
            ledger.note_received(self.name, MessageKey.of(packet.payload), packet.qos)
        elif isinstance(packet, Acknowledgement):
            ledger.note_acknowledged(self.in_flight.pop(packet.packet_id))
        elif isinstance(packet, Connack):
            if self.confirmed and not packet.session_present:
                ledger.fault(f"the session of {self.name} vanished")
            self.confirmed = True


class CrashHistory:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.world = DurableWorld()
        self.world.commits = False
        self.writing: Batch | None = None
        self.publishers = {stream: Peer(self, stream) for stream in STREAMS}
        self.subscribers = [Peer(self, "s1"), Peer(self, "s2")]
        self.peers = [*self.publishers.values(), *self.subscribers]
        self.ledger = DeliveryLedger([peer.name for peer in self.subscribers])
        for peer in self.peers:
            peer.connect()
        self.settle()
        for peer in self.subscribers:
            peer.protocol.subscribe([Request("load", 2)])
        self.settle()

    def step(self) -> None:
        chance = self.random.random()
        peer = self.random.choice(self.peers)
        size = self.random.choice((3, 40, 10_000))
        if chance < 0.3:
            peer.send_some(size)
        elif chance < 0.6:
            peer.receive_some(size)
        elif chance < 0.75:
            stream = self.random.choice(list(STREAMS))
            self.publishers[stream].publish(stream)
        elif chance < 0.85:
            self.begin_commit()
        elif chance < 0.95:
            self.finish_commit()
        elif chance < 0.97:
            peer.lose()
        elif chance < 0.98:
            self.crash()
        for waiting in self.peers:
            if waiting.connection is None and self.random.random() < 0.2:
                waiting.connect()

    def begin_commit(self) -> None:
        if self.writing is None and self.world.journal.dirty:
            self.writing = self.world.journal.take()

    def finish_commit(self) -> None:
        if self.writing is not None:
            batch, self.writing = self.writing, None
            self.world.journal.tables.apply(batch)
            self.world.broker.committed(batch.number, self.world.now)

    def crash(self) -> None:
        """The batch being written may have made it to the disk, or not."""
        if self.writing is not None and self.random.random() < 0.5:
            self.world.journal.tables.apply(self.writing)
        self.writing = None
        for peer in self.peers:
            peer.disconnected()
        self.world.crash()

    def settle(self) -> None:
        """Everything that is on its way arrives."""
        for peer in self.peers:
            if peer.connection is None:
                peer.connect()
        for _ in range(200):
            for peer in self.peers:
                peer.send_some(1 << 20)
                peer.receive_some(1 << 20)
            self.begin_commit()
            self.finish_commit()
