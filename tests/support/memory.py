"""Clients joined to a broker in memory: packets in, packets out, and time that the test moves."""

from typing import Any

from gossamer.broker.broker import Broker
from gossamer.broker.policy import Origin
from gossamer.broker.settings import Settings
from gossamer.session.journal import Journal
from gossamer.session.sink import Sink
from gossamer.wire.codec import decode, encode
from gossamer.wire.frames import header_length, packet_length
from gossamer.wire.packets import (
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    V5,
    Acknowledgement,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Publish,
    Request,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
    Will,
)
from gossamer.wire.properties import Properties


class MemorySink(Sink):
    def __init__(self) -> None:
        self.data = b""
        self.closed = False
        self.reading = True

    def write(self, data: bytes) -> None:
        self.data += data

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


def properties(**values: object) -> Properties:
    made = Properties()
    for name, value in values.items():
        setattr(made, name, value)
    return made


class World:
    """A broker, and the time."""

    begins = 1_000_000.0

    def __init__(self, journal: Journal | None = None, **settings: object) -> None:
        self.now = self.begins
        self.settings = Settings()
        self.settings.sys_interval = 0.0
        for name, value in settings.items():
            setattr(self.settings, name, value)
        self.broker = Broker(self.settings, journal or Journal(), self.now)

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.broker.tick(self.now)

    def client(self, name: str, version: int = V5, **options: Any) -> "MemoryClient":
        """Connected and welcomed."""
        client = self.visitor(version)
        client.connect(name, **options)
        assert client.connack.reason == 0
        return client

    def visitor(self, version: int = V5, address: str = "127.0.0.1") -> "MemoryClient":
        """A connection without a CONNECT yet."""
        return MemoryClient(self, version, address)


class MemoryClient:
    """Sends packets and sorts what comes back; acknowledges only when told to."""

    def __init__(self, world: World, version: int, address: str = "127.0.0.1") -> None:
        self.world = world
        self.version = version
        self.sink = MemorySink()
        self.connection = world.broker.open(self.sink, Origin(address, "test"), world.now)
        self.connack = Connack(False, 0xFF)
        self._later: list[Packet] = []

    def send(self, *packets: Packet) -> None:
        self.send_bytes(b"".join(encode(packet, self.version) for packet in packets))

    def send_bytes(self, data: bytes) -> None:
        self.connection.receive(data, self.world.now)
        self.world.broker.flush(self.world.now)

    def connect(
        self,
        name: str,
        clean: bool = True,
        expiry: int | None = None,
        keep_alive: int = 0,
        will: Will | None = None,
        user: str | None = None,
        **more: object,
    ) -> None:
        props = properties(**more)
        props.session_expiry = expiry
        self.send(
            Connect(
                name,
                self.version,
                clean,
                keep_alive,
                user,
                None,
                will,
                props if self.version == V5 else None,
            )
        )
        for packet in self.take():
            if isinstance(packet, Connack):
                self.connack = packet
            else:
                self._later.append(packet)

    def take(self) -> list[Packet]:
        """Everything that arrived since the last look."""
        found, self._later = self._later, []
        data, self.sink.data = self.sink.data, b""
        position = 0
        while position < len(data):
            size = packet_length(data, position)
            body = position + header_length(data, position)
            found.append(decode(data[position], data[body : position + size], self.version))
            position += size
        return found

    def messages(self) -> list[Publish]:
        """The publications that arrived; each is acknowledged to its end."""
        found: list[Publish] = []
        while packets := self.take():
            for packet in packets:
                if isinstance(packet, Publish):
                    found.append(packet)
                    if packet.qos:
                        kind = PUBACK if packet.qos == 1 else PUBREC
                        self.send(Acknowledgement(kind, packet.packet_id))
                elif isinstance(packet, Acknowledgement) and packet.kind == PUBREL:
                    self.send(Acknowledgement(PUBCOMP, packet.packet_id))
        return found

    def payloads(self) -> list[str]:
        return [message.payload.decode() for message in self.messages()]

    def subscribe(self, *filters: str, qos: int = 0, **options: object) -> list[int]:
        identifier = options.pop("identifier", None)
        user = options.pop("user", None)
        props = None
        if identifier or user:
            props = properties(subscription_ids=[identifier] if identifier else [], user=user or [])
        requests = [Request(filter, qos, **options) for filter in filters]  # type: ignore[arg-type]
        self.send(Subscribe(1, requests, props))
        packets = self.take()
        index = next(i for i, packet in enumerate(packets) if isinstance(packet, Suback))
        self._later = packets[:index] + packets[index + 1 :]
        answer = packets[index]
        assert isinstance(answer, Suback)
        return answer.reasons

    def unsubscribe(self, *filters: str) -> None:
        self.send(Unsubscribe(2, list(filters)))
        self._later = [packet for packet in self.take() if not isinstance(packet, Unsuback)]

    def publish(
        self,
        topic: str,
        payload: str = "x",
        qos: int = 0,
        retain: bool = False,
        packet_id: int = 1,
        **more: object,
    ) -> None:
        props = properties(**more) if more else None
        self.send(
            Publish(topic, payload.encode(), qos, retain, False, packet_id if qos else 0, props)
        )
        if qos == 2:
            self.send(Acknowledgement(PUBREL, packet_id))

    def disconnect(self, reason: int = 0, expiry: int | None = None) -> None:
        props = None if expiry is None else properties(session_expiry=expiry)
        self.send(Disconnect(reason, props))

    def lose(self) -> None:
        """The network breaks."""
        self.connection.lost(self.world.now)
        self.world.broker.flush(self.world.now)

    @property
    def is_closed(self) -> bool:
        return self.sink.closed
