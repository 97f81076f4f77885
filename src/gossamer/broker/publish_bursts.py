"""PUBLISH at QoS 0 without flags and properties: whole runs of packets go on as they came.

Who sends at QoS 0 sends much of it, to one topic and in one size: packets that differ in nothing
but their payload are one slice of the chunk, for each receiver that can have the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.archive_port import archive_run
from gossamer.broker.publish import known_route, topic_end
from gossamer.broker.routes import Route
from gossamer.session.message import Message
from gossamer.session.outbox import Outbox
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver
from gossamer.wire.packets import V5
from gossamer.wire.publish_codec import publish_start

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection

_PLAIN: Final = 0x30
# A packet grows by so much at most in the other version: properties, and a longer length.
_GROWTH: Final = 2


def forward_run(
    connection: Connection, data: bytes, start: int, body: int, stop: int, now: float
) -> int:
    """Forwards the packet at `start`, and with it every packet after it that differs in nothing but
    its payload. Answers where it stopped, or -1 if the packet has to be decoded."""
    version = connection.version
    after_topic = topic_end(data, body, stop)
    if after_topic < 0:
        return -1
    payload = after_topic
    if version == V5:
        payload += 1
        if payload > stop or data[after_topic] != 0:
            return -1
    route = known_route(connection, data[body + 2 : after_topic])
    if route is None:
        return -1
    own = connection.session
    if own is not None and not own.gives_plain:
        return stop  # a neighbour of an earlier tree: who is to have it gets it another way
    size = stop - start
    end = len(data)
    next_start = end_of_run(data, start, payload, size)
    chunk = data if next_start - start == end else data[start:next_start]
    translation = b""  # the same packets for receivers of the other version, once one needs them
    count = (next_start - start) // size
    core = connection.core
    core.counters.messages_received += count
    if not connection.is_peer:
        route.branch.published += next_start - start
        if route.archived and own is not None:
            archive_run(core, route, data, start, payload - start, size, next_start, own, now)
    others = bool(route.groups) or bool(route.distant) or bool(route.taps)
    for receiver in route.receivers:
        session = receiver.session
        outbox = session.outbox
        if outbox is None:
            continue
        if session is own and receiver.no_local:
            continue
        if _takes_runs(receiver, outbox, size, own):
            if outbox.blocked:
                core.counters.dropped_slow += count
                continue
            outbox.messages += count
            if outbox.version == version:
                outbox.put(chunk)
                continue
            if not translation:
                translation = _translated(route, data, start, payload, size, next_start, version)
            outbox.put(translation)
        else:
            others = True
    if others:
        _forward_singly(connection, route, data, start, payload - start, size, next_start, now)
    return next_start


def end_of_run(data: bytes, start: int, payload: int, size: int) -> int:
    """Behind the packets that differ from the one at `start` in nothing but their payload."""
    common = data[start:payload]
    end = len(data)
    following = start + size
    while data.startswith(common, following) and following + size <= end:
        following += size
    return following


def _takes_runs(receiver: Receiver, outbox: Outbox, size: int, own: Session | None) -> bool:
    """Whether the receiver can have plain QoS 0 packets as they came, or in its version."""
    session = receiver.session
    return (
        receiver.is_plain
        and size + _GROWTH <= outbox.maximum_packet
        and outbox.aliases is None
        and (session is not own or receiver.members is None)
    )


def _translated(
    route: Route, data: bytes, start: int, payload: int, size: int, end: int, version: int
) -> bytes:
    """A run in the other version: 5.0 has an empty list of properties in each packet."""
    block = b"" if version == V5 else b"\0"
    header = payload - start
    head = publish_start(_PLAIN, route.topic_bytes, len(block) + size - header) + block
    return head + head.join([data[at + header : at + size] for at in range(start, end, size)])


def _forward_singly(
    connection: Connection,
    route: Route,
    data: bytes,
    start: int,
    header: int,
    size: int,
    end: int,
    now: float,
) -> None:
    """The receivers of a run that cannot take its bytes as they came."""
    own = connection.session
    assert own is not None
    while start < end:
        message = Message(
            route.topic,
            data[start + header : start + size],
            0,
            False,
            None,
            0.0,
            own.client_id,
            own.user,
            route.topic_bytes,
        )
        for receiver in route.receivers:
            session = receiver.session
            outbox = session.outbox
            if outbox is None or _takes_runs(receiver, outbox, size, own):
                continue
            if session is not own:
                session.deliver(message, receiver, now)
            else:
                own_receiver = receiver.for_own_message()
                if own_receiver is not None:
                    session.deliver(message, own_receiver, now)
        route.share(message, own, now)
        for tap in route.taps:
            tap.take(message, own, now)
        start += size
