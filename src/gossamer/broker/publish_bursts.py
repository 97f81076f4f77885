"""PUBLISH without flags and properties: whole runs of packets go on together.

Who sends much sends it to one topic and in one size: packets that differ in nothing but their
payload. At QoS 0 they are one slice of the chunk, for each receiver that can have the same bytes.
At QoS 1 and 2 identifiers and answers differ too: these are written for the whole run at once
(`session/publish_run.py`), where each publication of it would pass `take` of `publish.py` without
anything to decide, and everybody who gets it would send it at once. Where that is not so, they are
published one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from librt.strings import read_i64_le
from mypy_extensions import i64

from gossamer.broker.archive_port import archive_run
from gossamer.broker.publish import accept_new, known_route, takes_without_a_look, topic_end
from gossamer.broker.routes import Route
from gossamer.session.link_properties import CARRIED_BLOCK, carried_at
from gossamer.session.message import Message
from gossamer.session.outbox import Outbox
from gossamer.session.publish_run import MOST_RUN_BYTES, PublishRun
from gossamer.session.runs import deliver_run, room_for_run, takes_run
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError
from gossamer.wire.frames import header_length, packet_length
from gossamer.wire.packets import V5, V311
from gossamer.wire.publish_codec import publish_start

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection

_PLAIN: Final = 0x30
_EXACTLY_ONCE: Final = 0x34
_LONGEST_RUN: Final = 65_535
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
    if not connection.is_peer:
        route.branch.published += next_start - start
        if route.archived and own is not None:
            core = connection.core
            archive_run(core, route, data, start, payload - start, size, next_start, 0, own, now)
    chunk = data if next_start - start == end else data[start:next_start]
    _forward(connection, route, chunk, payload - start, size, version, b"", now)
    return next_start


def forward_carried(
    connection: Connection, data: bytes, start: int, body: int, stop: int, now: float
) -> int:
    """As `forward_run`, for a run from a neighbour that is packets of 3.1.1 in the packet at
    `start`; -1 if it is none, or has to be decoded to be refused."""
    after_topic = topic_end(data, body, stop)
    packets = after_topic + len(CARRIED_BLOCK)
    if after_topic < 0 or packets >= stop or not carried_at(data, after_topic):
        return -1
    route = known_route(connection, data[body + 2 : after_topic])
    own = connection.session
    if route is None:
        return -1
    if own is not None and not own.gives_plain:
        return stop
    chunk = data[packets:stop]
    size = packet_length(chunk, 0)
    fixed = header_length(chunk, 0) if 0 < size <= len(chunk) else size
    header = fixed + after_topic - body
    if (
        chunk[0] != _PLAIN
        or header > size
        or chunk[fixed:header] != data[body:after_topic]
        or end_of_run(chunk, 0, header, size) != len(chunk)
    ):
        raise ProtocolError(reasons.MALFORMED_PACKET, "a run of packets that is malformed")
    carried = data if stop - start == len(data) else data[start:stop]
    _forward(connection, route, chunk, header, size, V311, carried, now)
    return stop


def _forward(
    connection: Connection,
    route: Route,
    chunk: bytes,
    header: int,
    size: int,
    version: int,
    carried: bytes,
    now: float,
) -> None:
    """Gives the packets of the chunk to everybody. `carried` is what a neighbour gets if they are
    of 3.1.1, if it is there already."""
    own = connection.session
    core = connection.core
    translation = b""  # the same packets for receivers of the other version, once one needs them
    count = len(chunk) // size
    core.counters.messages_received += count
    audience = route.audience
    others = bool(audience.groups or audience.distant or audience.taps or audience.conditional)
    for receiver in audience.receivers:
        session = receiver.session
        outbox = session.outbox
        if outbox is None:
            continue
        if session is own and receiver.no_local:
            continue
        if takes_plain_run(receiver, outbox, size, own):
            if outbox.blocked:
                core.counters.dropped_slow += count
                continue
            outbox.messages += count
            if outbox.version == version:
                outbox.put(chunk)
            elif session.is_peer and session.takes_runs and count > 1:
                if not carried:
                    carried = _carried(route, chunk)
                outbox.put(carried)
            else:
                if not translation:
                    translation = _translated(route, chunk, header, size, version)
                outbox.put(translation)
        else:
            others = True
    taken = 0
    if others:
        taken = _forward_singly(connection, route, chunk, header, size, now)
    if connection.is_peer and own is not None and not audience.is_wanted(own):
        core.counters.needless += count - taken


def publish_run(
    connection: Connection, data: bytes, head: int, start: int, body: int, stop: int, now: float
) -> int:
    """Publishes the packet at `start`, QoS 1 or 2, with as many after it as go the same way.
    Answers where it stopped, or -1 if the packet has to be published by itself."""
    version = connection.version
    after_topic = topic_end(data, body, stop)
    payload = after_topic + 3 if version == V5 else after_topic + 2
    if after_topic < 0 or payload > stop:
        return -1
    route = known_route(connection, data[body + 2 : after_topic])
    if route is None or not takes_without_a_look(connection.core, route):
        return -1
    size = stop - start
    session = connection.session
    assert session is not None
    room = _room_of(route, session, head >> 1 & 3, size)
    if room < 2:
        return -1
    count = _length_of_run(data, start, after_topic, payload, size, room)
    if count < 2:
        return -1
    if head == _EXACTLY_ONCE:
        count = accept_new(connection, data, after_topic, size, count)
    if count == 0:
        return -1
    end = start + count * size
    run = PublishRun(
        route.topic_bytes,
        version,
        head >> 1 & 3,
        data[start:end],
        count,
        size,
        after_topic - start,
        stop - payload,
    )
    core = connection.core
    core.counters.messages_received += count
    if route.archived:
        header = payload - start
        archive_run(core, route, run.packets, 0, header, size, end - start, run.qos, session, now)
    route.branch.published += count * (len(route.topic_bytes) + stop - payload)
    message: Message | None = None  # all of it, as neighbours get it
    for receiver in route.audience.sure:
        if receiver.session.is_peer:
            if message is None:
                message = _as_message(route, run, session)
            receiver.session.deliver(message, receiver, now)
        elif receiver.session is not session or not receiver.no_local:  # [MQTT-3.8.3-3]
            deliver_run(receiver.session, run, receiver)
    connection.outbox.put_promise(run.acknowledgements())
    return end


def _room_of(route: Route, own: Session, qos: int, size: int) -> int:
    """How long a run all receivers can have at once; 0 if one of them needs a look at each."""
    room = _LONGEST_RUN
    for receiver in route.audience.sure:
        session = receiver.session
        outbox = session.outbox
        if session.is_peer:
            if not receiver.qos or not takes_run(session):
                return 0
            room = min(room, MOST_RUN_BYTES // size)
        elif outbox is None:
            if session.persistent:
                return 0
        elif session is own and receiver.no_local:
            continue
        elif not takes_plain_run(receiver, outbox, size, own):
            return 0
        elif receiver.qos:
            room = min(room, room_for_run(session))
    return room


def _as_message(route: Route, run: PublishRun, own: Session) -> Message:
    name = own.hub.namer.run_name(run.qos, run.count)
    return Message(
        route.topic,
        run.payloads(),
        run.qos,
        False,
        None,
        0.0,
        own.client_id,
        own.user,
        route.topic_bytes,
        name,
    )


def _length_of_run(
    data: bytes, start: int, after_topic: int, payload: int, size: int, most: int
) -> int:
    """How many packets from `start` on differ in nothing but their payload and packet identifier,
    which is none that a packet must not have."""
    header = after_topic - start
    end = len(data)
    count = 0
    at = start
    while count < most and at + size <= end:
        if count and not _begins_alike(data, at, size, header):
            break
        identifier = at + header
        if data[identifier] == 0 and data[identifier + 1] == 0:
            break
        if payload - after_topic == 3 and data[identifier + 2] != 0:
            break  # properties
        at += size
        count += 1
    return count


def end_of_run(data: bytes, start: int, payload: int, size: int) -> int:
    """Behind the packets that differ from the one at `start` in nothing but their payload."""
    end = len(data)
    following = start + size
    while following + size <= end and _begins_alike(data, following, size, payload - start):
        following += size
    return following


def _begins_alike(data: bytes, start: int, size: int, length: int) -> bool:
    """Whether the packet at `start` is as the one before it for so many bytes.

    By hand, from the end, where topics differ: a method of `bytes` would cost several times as much
    to call as the comparison takes.
    """
    at: i64 = start
    before: i64 = start - size
    left: i64 = length
    while left >= 8:
        left -= 8
        if read_i64_le(data, at + left) != read_i64_le(data, before + left):
            return False
    while left:
        left -= 1
        if data[at + left] != data[before + left]:
            return False
    return True


def takes_plain_run(receiver: Receiver, outbox: Outbox, size: int, own: Session | None) -> bool:
    """Whether the receiver can have plain QoS 0 packets as they came, or in its version."""
    session = receiver.session
    return (
        receiver.is_plain
        and size + _GROWTH <= outbox.maximum_packet
        and outbox.aliases is None
        and (session is not own or receiver.members is None)
    )


def _translated(route: Route, chunk: bytes, header: int, size: int, version: int) -> bytes:
    """A run in the other version: 5.0 has an empty list of properties in each packet."""
    block = b"" if version == V5 else b"\0"
    head = publish_start(_PLAIN, route.topic_bytes, len(block) + size - header) + block
    return head + head.join([chunk[at + header : at + size] for at in range(0, len(chunk), size)])


def _carried(route: Route, chunk: bytes) -> bytes:
    """Packets of 3.1.1 in one for a neighbour: to translate them, and back behind it, would take
    most of the time that they cost."""
    block = CARRIED_BLOCK
    return publish_start(_PLAIN, route.topic_bytes, len(block) + len(chunk)) + block + chunk


def _forward_singly(
    connection: Connection,
    route: Route,
    chunk: bytes,
    header: int,
    size: int,
    now: float,
) -> int:
    """The receivers of a run that cannot take its bytes as they came. Answers how many of its
    messages somebody wanted who looks at each."""
    own = connection.session
    assert own is not None
    audience = route.audience  # for all of the run: the route may be let go of meanwhile
    counters = connection.core.counters
    taken = 0
    for start in range(0, len(chunk), size):
        message = Message(
            route.topic,
            chunk[start + header : start + size],
            0,
            False,
            None,
            0.0,
            own.client_id,
            own.user,
            route.topic_bytes,
        )
        for receiver in audience.receivers:
            session = receiver.session
            outbox = session.outbox
            if outbox is None or takes_plain_run(receiver, outbox, size, own):
                continue
            if session is not own:
                session.deliver(message, receiver, now)
            else:
                own_receiver = receiver.for_own_message()
                if own_receiver is not None:
                    session.deliver(message, own_receiver, now)
        audience.share(message, own, now)
        before = counters.taken
        for tap in audience.taps:
            tap.take(message, own, now)
        for neighbour in audience.conditional:
            neighbour.take(message, own, now)
        taken += counters.taken != before
    return taken
