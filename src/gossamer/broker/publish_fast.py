"""PUBLISH on the fast road: plain packets go on as they came, whole runs of them at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.archive_port import archive_plain, archive_run, must_refuse
from gossamer.broker.delivery import distribute
from gossamer.broker.known_topics import forget_topics, remember_topic
from gossamer.broker.publish_checks import answer_publish, check_quota, is_allowed
from gossamer.broker.publish_from_neighbour import distribute_arrived
from gossamer.broker.refusals import is_refused, is_withheld
from gossamer.broker.routes import Route
from gossamer.session.message import Message
from gossamer.session.message_names import NAMED_BLOCK, named_at
from gossamer.session.outbox import Outbox
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver
from gossamer.wire import reasons
from gossamer.wire.frames import encode_varint
from gossamer.wire.packets import V5
from gossamer.wire.publish_codec import IDENTIFIERS, PUBACK_HEAD, PUBREC_HEAD
from gossamer.wire.scalars import decode_text

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection

# A packet grows by so much at most in the other version: properties, and a longer length.
_GROWTH: Final = 2


def forward_plain(
    connection: Connection, data: bytes, start: int, body: int, stop: int, now: float
) -> int:
    """QoS 0 without flags or properties: forwards the packet at `start`, and with it every packet
    after it that differs in nothing but its payload. Answers where it stopped, or -1 if the packet
    needs the whole road."""
    version = connection.version
    after_topic = body + 2
    if after_topic > stop:
        return -1
    after_topic += data[body] << 8 | data[body + 1]
    payload = after_topic
    if version == V5:
        payload += 1
        if payload > stop or data[after_topic] != 0:
            return -1
    elif payload > stop:
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
    if route.archived and own is not None and not connection.is_peer:
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
                translation = _translated(data, start, body, payload, size, next_start, version)
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
        and session.aliases is None
        and (session is not own or receiver.members is None)
    )


def _translated(
    data: bytes, start: int, body: int, payload: int, size: int, end: int, version: int
) -> bytes:
    """A run in the other version: 5.0 has an empty list of properties in each packet."""
    rest = start + size - body
    if version == V5:
        head = b"\x30" + encode_varint(rest - 1) + data[body : payload - 1]
    else:
        head = b"\x30" + encode_varint(rest + 1) + data[body:payload] + b"\0"
    header = payload - start
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
            if outbox is None:
                continue
            if _takes_runs(receiver, outbox, size, own):
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


def forward_acknowledged(
    connection: Connection, data: bytes, head: int, start: int, body: int, stop: int, now: float
) -> bool:
    """QoS 1 or 2 without other flags or properties. False if the packet needs the whole road."""
    version = connection.version
    after_topic = body + 2
    if after_topic > stop:
        return False
    after_topic += data[body] << 8 | data[body + 1]
    payload = after_topic + 2
    name = b""
    if version == V5:
        payload += 1
        if payload > stop:
            return False
        if data[payload - 1] != 0:
            before = payload
            payload += NAMED_BLOCK
            if not connection.is_peer or payload > stop or not named_at(data, before - 1):
                return False
            name = data[before + 1 : payload]
    elif payload > stop:
        return False
    packet_id = data[after_topic] << 8 | data[after_topic + 1]
    if packet_id == 0:
        return False
    route = known_route(connection, data[body + 2 : after_topic])
    core = connection.core
    if route is None or not core.journal.accepts or (route.archived and must_refuse(core, route)):
        return False
    session = connection.session
    assert session is not None
    qos = head >> 1 & 3
    if core.refusals.missed or core.hub.refusing:
        return False
    if qos == 2:
        if session.is_incoming(packet_id):
            if not is_withheld(connection, packet_id):
                connection.outbox.put_promise(PUBREC_HEAD + IDENTIFIERS[packet_id])
            return True
        check_quota(connection)
        session.accept_incoming(packet_id)
    core.counters.messages_received += 1
    if not connection.is_peer:
        route.branch.published += stop - start
    content = data[payload:stop]
    if route.archived and not connection.is_peer:
        archive_plain(core, route, content, qos, session, now)
    if route.sure or route.groups or route.distant or route.taps or name:
        message = Message(
            route.topic,
            content,
            qos,
            False,
            None,
            0.0,
            session.client_id,
            session.user,
            route.topic_bytes,
            name,
        )
        if name:
            message.preset_named(data[start:after_topic], data[after_topic + 2 : stop])
            core.hub.passing.begin()
            distribute_arrived(core, message, route, session, now)
        else:
            message.preset_head(version, data[start:after_topic], data[after_topic + 2 : stop])
            distribute(message, route, session, now)
        answer = (PUBACK_HEAD if qos == 1 else PUBREC_HEAD) + IDENTIFIERS[packet_id]
        if core.hub.refusing and is_refused(connection, message, packet_id, now):
            return True
        if name and core.hub.passing.hold(session, packet_id, answer, len(content)):
            return True
        connection.outbox.put_promise(answer)
    else:
        answer_publish(connection, qos, packet_id, reasons.NO_MATCHING_SUBSCRIBERS, "", True)
    return True


def known_route(connection: Connection, topic_bytes: bytes) -> Route | None:
    """The route of a topic this connection may publish to and has used before, or may use now."""
    core = connection.core
    if connection.seen_policy != core.policy_changes:
        forget_topics(connection)
        connection.seen_policy = core.policy_changes
    route = connection.known.get(topic_bytes)
    if route is None:
        topic = decode_text(topic_bytes, 0, len(topic_bytes), "the topic name")
        if not topic or "+" in topic or "#" in topic or not is_allowed(connection, topic):
            return None
        route = core.routes.route(topic, topic_bytes)
        remember_topic(connection, route)
    elif route.seen_branch != route.branch.changes or route.seen_all != core.routes.changes:
        renewed = core.routes.renewed(route)
        if renewed is not route:
            connection.known[topic_bytes] = renewed
            route = renewed
    return route
