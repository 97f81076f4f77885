"""The run: rounds of inputs against one broker each, and what must hold after every input.

No exception leaves the broker, and it notes no fault of its own; what it sends, to whoever sent the
input and to those who subscribed to everything, can be read; a connection is open, or closed and
forgotten; timers go on; and clients that did nothing wrong stay connected and are served. A round
has a fresh broker and a stream of its own, so that a fault is found again from its round alone.
"""

from collections.abc import Callable
from random import Random
from typing import Final

from gossamer.broker.broker import Broker
from gossamer.broker.connection import Connection
from gossamer.broker.core import CLOSED
from gossamer.broker.policy import Authenticator, AuthStep, Exchange, Origin, Verdict
from gossamer.broker.settings import Settings
from gossamer.session.sink import Sink
from gossamer.storage.memory_journal import MemoryJournal
from gossamer.wire.codec import decode, encode
from gossamer.wire.errors import ProtocolError
from gossamer.wire.frames import header_length, packet_length
from gossamer.wire.packets import (
    AUTH,
    CONNECT,
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    V5,
    V311,
    Acknowledgement,
    Connect,
    Packet,
    Pingresp,
    Publish,
    Request,
    Subscribe,
)
from gossamer.wire.properties import Properties
from gossamer.wire.reasons import NOT_AUTHORIZED, SUCCESS
from gossamer_lab.torture.fuzz.inputs import METHOD, Inputs

# What clients of good manners subscribe to, beside a region.
WIDE: Final = ("#", "/#", "$GEO/#", "$share/g/#", "$AVG;RPT/a/#", "$GT;1/+/b", "$HOURLYCOUNT/#")
ROUND: Final = 500  # inputs to one broker
MOST_FAULTS: Final = 20
ORIGIN: Final = Origin("127.0.0.1", "fuzz")


class FuzzOutcome:
    def __init__(self) -> None:
        self.inputs = 0
        self.bytes = 0
        self.logins = 0  # connections that got in
        self.refused = 0  # inputs that ended their connection
        self.answers = 0  # packets that the broker sent
        self.delivered = 0  # publications among them
        self.faults: list[str] = []


class _Socket(Sink):
    def __init__(self) -> None:
        self.data: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes) -> None:
        self.data.append(data)

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = True


class _Exchange(Exchange):
    """Two steps; data that begins with `n` is refused."""

    def __init__(self) -> None:
        self._steps = 0

    def step(self, data: bytes) -> AuthStep:
        self._steps += 1
        if data.startswith(b"n"):
            return AuthStep(b"", Verdict(NOT_AUTHORIZED, text="no"))
        return AuthStep(data, Verdict(SUCCESS, "fuzz") if self._steps > 1 else None)


class _Doorkeeper(Authenticator):
    def begin_exchange(self, method: str, origin: Origin) -> Exchange | None:
        return _Exchange() if method == METHOD else None


class _AnswerReader:
    """A client of good manners: it reads what its subscriptions bring, and acknowledges it."""

    def __init__(self, broker: Broker, name: str, version: int, now: float) -> None:
        self.sink = _Socket()
        self.version = version
        self.connection = broker.open(self.sink, ORIGIN, now)
        properties = None
        located = None
        if version == V5:
            properties = Properties()
            properties.topic_alias_maximum = 5
            properties.session_expiry = 1000
            located = Properties()
            located.subscription_ids = [7]
            located.user = [("gpl_circleStatic", "1;km;1;10;20;500")]
        connect = Connect(name, version, False, 0, None, None, None, properties)
        plain = [Request(filter, 2) for filter in WIDE]
        self.login = b"".join(
            (
                encode(connect, version),
                encode(Subscribe(1, plain), version),
                encode(Subscribe(2, [Request("a/#", 1)], located), version),
            )
        )

    def answer(self, packet: Packet) -> bytes:
        kind = 0
        if isinstance(packet, Publish) and packet.qos:
            kind = PUBACK if packet.qos == 1 else PUBREC
        elif isinstance(packet, Acknowledgement) and packet.kind == PUBREL:
            kind = PUBCOMP
        if not kind:
            return b""
        assert isinstance(packet, Publish | Acknowledgement)
        return encode(Acknowledgement(kind, packet.packet_id), self.version)


class _Round:
    """One broker, with a store, and clients of good manners."""

    def __init__(self, chance: Random, outcome: FuzzOutcome) -> None:
        self._chance = chance
        self._outcome = outcome
        self._inputs = Inputs(chance)
        self._journal = MemoryJournal()
        settings = Settings()
        settings.sys_interval = 10.0
        self._now = 1_700_000_000.0
        self._broker = Broker(settings, self._journal, self._now)
        self._broker.core.authenticator = _Doorkeeper()
        self._readers = [
            _AnswerReader(self._broker, f"reader{version}", version, self._now)
            for version in (V311, V5)
        ]
        for reader in self._readers:
            self._say(reader.connection, reader.login)
        self._connection: Connection | None = None
        self._sink = _Socket()

    def run(self) -> None:
        """One input."""
        chance = self._chance
        connection = self._connection
        if connection is None:
            self._inputs.version = chance.choice((V311, V5))
            connection, self._sink = self._open()
            self._connection = connection
            if chance.random() < 0.8:
                self._say(connection, self._inputs.login())
                self._outcome.logins += connection.session is not None
        if connection.stage != CLOSED:
            data = self._inputs.next(_expected(connection))
            self._outcome.bytes += len(data)
            for piece in self._pieces(data):
                self._say(connection, piece)
            self._outcome.refused += connection.stage == CLOSED
        self._read(self._sink, connection.version)
        for reader in self._readers:
            self._serve(reader)
        if connection.stage == CLOSED or chance.random() < 0.1:
            self._close(connection)
        if chance.random() < 0.1:
            self._now += chance.choice((0.1, 1.0, 20.0, 4000.0))
            self._broker.tick(self._now)
            self._commit()

    def end(self) -> None:
        """The good client is still served, and the next broker reads what this one stored."""
        if self._connection is not None:
            self._close(self._connection)
        for reader in self._readers:
            self._serve(reader)
            self._say(reader.connection, b"\xc0\x00")
            answers = self._read(reader.sink, reader.version)
            if not any(isinstance(packet, Pingresp) for packet in answers):
                raise AssertionError("another client has no answer to its ping")
        again = self._journal.restarted()
        Broker(Settings(), again, self._now).restore(again.snapshot, self._now)

    def _open(self) -> tuple[Connection, _Socket]:
        sink = _Socket()
        return self._broker.open(sink, ORIGIN, self._now), sink

    def _close(self, connection: Connection) -> None:
        connection.lost(self._now)
        self._broker.flush(self._now)
        self._commit()
        if connection.token in self._broker.core.connections:
            raise AssertionError("a closed connection is not forgotten")
        self._connection = None

    def _say(self, connection: Connection, data: bytes) -> None:
        if connection.stage != CLOSED:
            connection.receive(data, self._now)
            self._broker.flush(self._now)
            self._commit()

    def _serve(self, reader: _AnswerReader) -> None:
        packets = self._read(reader.sink, reader.version)
        while packets:
            answers = b"".join([reader.answer(packet) for packet in packets])
            if answers:
                self._say(reader.connection, answers)
            packets = self._read(reader.sink, reader.version)
        if reader.sink.is_closed:
            raise AssertionError("a client that did nothing wrong was cut off")

    def _commit(self) -> None:
        if self._journal.dirty:
            self._broker.committed(self._journal.commit(), self._now)
        faults = self._broker.core.faults
        if faults.total:
            raise AssertionError(f"the broker noted {faults.by_place}")

    def _pieces(self, data: bytes) -> list[bytes]:
        if len(data) < 2 or self._chance.random() < 0.7:
            return [data]
        at = self._chance.randrange(1, len(data))
        return [data[:at], data[at:]]

    def _read(self, sink: _Socket, version: int) -> list[Packet]:
        """Everything that was sent can be read."""
        data = b"".join(sink.data)
        sink.data.clear()
        position = 0
        packets: list[Packet] = []
        while position < len(data):
            size = packet_length(data, position)
            if not size or position + size > len(data):
                raise AssertionError("what the broker sent is cut off")
            body = data[position + header_length(data, position) : position + size]
            try:
                packets.append(decode(data[position], body, version))
            except ProtocolError as error:
                raise AssertionError(f"what the broker sent cannot be read: {error.text}") from None
            position += size
        self._outcome.answers += len(packets)
        self._outcome.delivered += sum(isinstance(packet, Publish) for packet in packets)
        return packets


def _expected(connection: Connection) -> int:
    """The kind of packet that gets furthest now, 0 if there is none."""
    if connection.session is not None:
        return 0
    return CONNECT if connection.exchange is None else AUTH


def fuzz(inputs: int, seed: int, first_round: int, shown: Callable[[int], None]) -> FuzzOutcome:
    """`shown` is told how many inputs are done."""
    outcome = FuzzOutcome()
    number = first_round
    while outcome.inputs < inputs and len(outcome.faults) < MOST_FAULTS:
        round = _Round(Random(f"{seed} {number}"), outcome)
        try:
            for _ in range(min(ROUND, inputs - outcome.inputs)):
                outcome.inputs += 1
                round.run()
            round.end()
        except Exception as error:
            where = error.__traceback__
            while where is not None and where.tb_next is not None:
                where = where.tb_next
            place = "" if where is None else f" at {where.tb_frame.f_code.co_qualname}"
            text = f"{type(error).__name__}: {str(error)[:300]}{place}"
            outcome.faults.append(f"seed {seed}, round {number}: {text}")
        number += 1
        shown(outcome.inputs)
    return outcome
