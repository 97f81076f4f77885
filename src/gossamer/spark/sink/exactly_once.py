"""Publishes a partition of a batch effectively once, however often Spark writes it.

Rows are numbered in the order of their content, which does not depend on the order in which they
come. So a batch that is written again must have the same rows in the same partitions, as it has
wherever the query computes the same again.

The broker drops what it already has by MQTT's own exactly-once, held open: a publication at QoS 2
is remembered by its packet identifier, in the session of its client, until it is released. Here a
session belongs to one partition of one batch, a row's identifier is its number in it, and nothing
is released. If the batch is written again, the session is resumed, and rows that had arrived are
known by their number. The session of the batch before is ended.
"""

import hashlib
import socket
import ssl
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from gossamer.backoff import Patience
from gossamer.net.client_socket import DEFAULT_PORTS, parse_address
from gossamer.spark.sink.publisher import Row, SinkError, message_of, pause_after, refused
from gossamer.spark.sink.sink_options import SinkOptions
from gossamer.wire.codec import decode, encode
from gossamer.wire.frames import PacketStream
from gossamer.wire.packets import (
    PUBREC,
    V5,
    Acknowledgement,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Publish,
)
from gossamer.wire.properties import Properties
from gossamer.wire.reasons import UNSPECIFIED_ERROR

# For so long after it was written, a batch may be written again.
KEPT_SECONDS: Final = 86_400
QOS: Final = 2
MAX_IDENTIFIER: Final = 65_535
DEFAULT_RECEIVE_MAXIMUM: Final = 65_535
# Without a byte for so long a broker counts as gone.
SILENCE_SECONDS: Final = 30.0
_READ_BYTES: Final = 1 << 16
_PLAIN: Final = ("mqtt", "mqtts")


@dataclass(frozen=True)
class Part:
    """A partition of a batch of a query."""

    query: str
    batch: int
    partition: int

    def client_id(self, session: int) -> str:
        """Of 23 characters from a small alphabet, as every broker must take it."""
        text = f"{self.query}\0{self.batch}\0{self.partition}\0{session}"
        return "spark" + hashlib.sha256(text.encode()).hexdigest()[:18]

    def before(self) -> "Part":
        return Part(self.query, self.batch - 1, self.partition)


def publish_once(rows: list[Row], part: Part, options: SinkOptions) -> None:
    """Raises SinkError."""
    messages = [message_of(row, QOS) for row in sorted(rows, key=_content)]
    for message in messages:
        message.qos = QOS
    for session in range(-(-len(messages) // MAX_IDENTIFIER)):
        at = session * MAX_IDENTIFIER
        _publish_session(messages[at : at + MAX_IDENTIFIER], part.client_id(session), options)
    if part.batch > 0:
        _forget(part.before(), options)


def _publish_session(messages: list[Publish], client_id: str, options: SinkOptions) -> None:
    patience = Patience(options.retry_seconds)
    done = 0
    while done < len(messages):
        try:
            # The window opens anew with each connection.
            with HeldSession(options, client_id, KEPT_SECONDS) as session:
                some = messages[done : done + session.window]
                session.publish(some, done + 1)
            done += len(some)
        except OSError as problem:
            time.sleep(pause_after(problem, patience, options))


def _forget(part: Part, options: SinkOptions) -> None:
    """Spark has finished with this batch: the broker need not know its rows any more."""
    session = 0
    try:
        while True:
            with HeldSession(options, part.client_id(session), 0) as held:
                if not held.resumed:
                    return
            session += 1
    except OSError:
        return  # then the broker forgets it in time


def _content(row: Row) -> tuple[object, ...]:
    """In the order of time, then of everything else."""
    rest = sorted((name, repr(value)) for name, value in row.items() if name != "time")
    return str(row.get("time", "")), str(row["topic"]), tuple(rest)


class HeldSession:
    """One connection of a lasting session; nothing that it publishes is ever released."""

    def __init__(self, options: SinkOptions, client_id: str, lasts: int) -> None:
        """`lasts` is for how many seconds the broker keeps the session; 0 ends it."""
        self._url = options.url
        self._stream = PacketStream()
        self._arrived: list[Packet] = []
        self._socket = _dial(options)
        properties = Properties()
        properties.session_expiry = lasts
        password = None if options.password is None else options.password.encode()
        self._send(Connect(client_id, V5, False, 0, options.user, password, None, properties))
        answer = self._read()
        if not isinstance(answer, Connack) or answer.reason >= UNSPECIFIED_ERROR:
            self._socket.close()
            raise refused(self._url, _said(answer), _reason(answer))
        self.resumed = answer.session_present
        stated = answer.properties.receive_maximum if answer.properties is not None else None
        self.window = DEFAULT_RECEIVE_MAXIMUM if stated is None else stated

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._send(Disconnect(0))
        self._socket.close()

    def publish(self, messages: list[Publish], first_identifier: int) -> None:
        """At most `window` of them; returns when the broker has them all."""
        for identifier, message in enumerate(messages, first_identifier):
            message.packet_id = identifier
            message.dup = self.resumed
        self._socket.sendall(b"".join(encode(message, V5) for message in messages))
        waiting = {message.packet_id: message.topic for message in messages}
        while waiting:
            answer = self._read()
            if not isinstance(answer, Acknowledgement) or answer.kind != PUBREC:
                raise ConnectionError(f"{self._url}: {_said(answer)}")
            topic = waiting.pop(answer.packet_id, "")
            if answer.reason >= UNSPECIFIED_ERROR:
                said = f"PUBLISH to {topic}: {_said(answer)}"
                raise refused(self._url, said, answer.reason)

    def _send(self, packet: Packet) -> None:
        self._socket.sendall(encode(packet, V5))

    def _read(self) -> Packet:
        while not self._arrived:
            data = self._socket.recv(_READ_BYTES)
            if not data:
                raise ConnectionError(f"{self._url}: the connection broke off")
            self._arrived += [decode(head, body, V5) for head, body in self._stream.feed(data)]
        return self._arrived.pop(0)


def _dial(options: SinkOptions) -> socket.socket:
    address = parse_address(options.url)
    if address.scheme not in _PLAIN:
        raise SinkError(f"{options.url}: delivery once speaks {' and '.join(_PLAIN)}")
    port = address.port or DEFAULT_PORTS[address.scheme]
    connection = socket.create_connection((address.host, port), SILENCE_SECONDS)
    if not address.encrypted:
        return connection
    context = ssl.create_default_context(cafile=options.ca_file)
    return context.wrap_socket(connection, server_hostname=address.host)


def _reason(packet: Packet) -> int:
    return getattr(packet, "reason", 0)


def _said(packet: Packet) -> str:
    properties = getattr(packet, "properties", None)
    text = properties.reason_string if properties is not None else None
    return text or f"refused with reason 0x{_reason(packet):02X}"
