"""PUBLISH from a client: the fast road for plain packets, and the whole road for the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.core import Core
from gossamer.broker.distributing import distribute, distribute_retained
from gossamer.broker.hiding import distribute_guarded
from gossamer.broker.neighbours import CONTROL_TOPIC, LOCAL_TOPICS
from gossamer.broker.routes import Route
from gossamer.broker.sharing import give_to_group
from gossamer.geo.errors import GlpError
from gossamer.geo.glp import Glp
from gossamer.session.frames import IDENTIFIERS, PUBACK_HEAD, PUBREC_HEAD
from gossamer.session.message import Message
from gossamer.session.outlet import Outlet
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver
from gossamer.topics.names import TopicError, check_name
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import PUBACK, PUBREC, V5, Acknowledgement, Publish
from gossamer.wire.properties import Properties
from gossamer.wire.publish_codec import encode_acknowledgement
from gossamer.wire.scalars import decode_text

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection

# Topics in use by one connection that are remembered with their route.
MAX_KNOWN: Final = 4_096
# Written by the broker alone.
RESERVED: Final = ("$SYS/", "$share/", "$gossamer/", "$GEO/")


def forward_plain(
    connection: Connection, data: bytes, start: int, body: int, stop: int, now: float
) -> int:
    """QoS 0 without flags or properties: forwards the packet at `start` as it stands, and with it
    every packet after it that differs in nothing but its payload. Answers where it stopped, or -1
    if the packet needs the whole road."""
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
    common = data[start:payload]
    size = stop - start
    end = len(data)
    next_start = stop
    while data.startswith(common, next_start) and next_start + size <= end:
        next_start += size
    chunk = data if next_start - start == end else data[start:next_start]
    count = (next_start - start) // size
    core = connection.core
    core.counters.messages_received += count
    own = connection.session
    others = bool(route.groups) or bool(route.taps)
    for receiver in route.receivers:
        session = receiver.session
        outlet = session.outlet
        if outlet is None:
            continue
        if session is own and receiver.no_local:
            continue
        if _takes_bytes(receiver, outlet, version, size, own):
            if outlet.blocked:
                core.counters.dropped_slow += count
            else:
                outlet.messages += count
                outlet.put(chunk)
        else:
            others = True
    if others:
        _forward_singly(connection, route, data, start, payload - start, size, next_start, now)
    return next_start


def _takes_bytes(
    receiver: Receiver, outlet: Outlet, version: int, size: int, own: Session | None
) -> bool:
    """Whether the receiver can have plain QoS 0 packets as they came."""
    session = receiver.session
    return (
        receiver.is_plain
        and outlet.version == version
        and size <= outlet.maximum_packet
        and session.aliases is None
        and (session is not own or receiver.members is None)
    )


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
            outlet = session.outlet
            if outlet is None:
                continue
            if _takes_bytes(receiver, outlet, connection.version, size, own):
                continue
            if session is not own:
                session.deliver(message, receiver, now)
            else:
                own_receiver = receiver.for_own_message()
                if own_receiver is not None:
                    session.deliver(message, own_receiver, now)
        for group in route.groups:
            give_to_group(group, message, now)
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
    if version == V5:
        payload += 1
        if payload > stop or data[payload - 1] != 0:
            return False
    elif payload > stop:
        return False
    packet_id = data[after_topic] << 8 | data[after_topic + 1]
    if packet_id == 0:
        return False
    route = known_route(connection, data[body + 2 : after_topic])
    core = connection.core
    if route is None or not core.journal.accepts:
        return False
    session = connection.session
    assert session is not None
    qos = head >> 1 & 3
    if qos == 2:
        if session.is_incoming(packet_id):
            connection.outlet.put_promise(PUBREC_HEAD + IDENTIFIERS[packet_id])
            return True
        check_quota(connection)
        session.accept_incoming(packet_id)
    core.counters.messages_received += 1
    if route.receivers or route.groups or route.taps:
        message = Message(
            route.topic,
            data[payload:stop],
            qos,
            False,
            None,
            0.0,
            session.client_id,
            session.user,
            route.topic_bytes,
        )
        message.preset_head(version, data[start:after_topic], data[after_topic + 2 : stop])
        distribute(message, route, session, now)
        answer = PUBACK_HEAD if qos == 1 else PUBREC_HEAD
        connection.outlet.put_promise(answer + IDENTIFIERS[packet_id])
    else:
        _answer(connection, qos, packet_id, reasons.NO_MATCHING_SUBSCRIBERS, "")
    return True


def known_route(connection: Connection, topic_bytes: bytes) -> Route | None:
    """The route of a topic this connection may publish to and has used before, or may use now."""
    core = connection.core
    if connection.seen_policy != core.policy_changes:
        connection.known.clear()
        connection.seen_policy = core.policy_changes
    route = connection.known.get(topic_bytes)
    if route is None:
        topic = decode_text(topic_bytes, 0, len(topic_bytes), "the topic name")
        if not topic or "+" in topic or "#" in topic or not is_allowed(connection, topic):
            return None
        route = core.routes.route(topic, topic_bytes)
        if len(connection.known) >= MAX_KNOWN:
            connection.known.clear()
        connection.known[topic_bytes] = route
    elif route.seen_branch != route.branch.changes or route.seen_all != core.routes.changes:
        core.routes.refresh(route)
    return route


def is_allowed(connection: Connection, topic: str) -> bool:
    """Whether this client may publish here; a topic the broker cannot take is an error."""
    try:
        check_name(topic, connection.settings.max_levels)
    except TopicError as error:
        raise ProtocolError(reasons.TOPIC_NAME_INVALID, str(error)) from None
    if connection.is_peer:
        return not topic.startswith(LOCAL_TOPICS)
    if topic.startswith(RESERVED):
        return False
    return connection.core.permissions.may_publish(connection.identity, topic)


def check_quota(connection: Connection) -> None:
    """[MQTT-3.3.4-9]: a client must not have more in flight than we announced."""
    session = connection.session
    assert session is not None
    incoming = session.incoming
    if (
        incoming is not None
        and connection.version == V5
        and not connection.is_peer
        and len(incoming) >= connection.settings.receive_maximum
    ):
        raise ProtocolError(
            reasons.RECEIVE_MAXIMUM_EXCEEDED,
            f"more than {connection.settings.receive_maximum} publications are unreleased",
        )


def handle_publish(connection: Connection, packet: Publish, now: float) -> None:
    """Any PUBLISH, with everything it may carry."""
    core = connection.core
    session = connection.session
    assert session is not None
    topic = _topic_of(connection, packet)
    if connection.is_peer and topic == CONTROL_TOPIC:
        core.neighbours.control(connection, packet.payload, now)
        return
    core.counters.messages_received += 1
    if packet.qos == 2:
        if session.is_incoming(packet.packet_id):
            connection.outlet.put_promise(PUBREC_HEAD + IDENTIFIERS[packet.packet_id])
            return
        check_quota(connection)
    if not is_allowed(connection, topic):
        core.counters.publications_refused += 1
        _answer(
            connection,
            packet.qos,
            packet.packet_id,
            reasons.NOT_AUTHORIZED,
            f"you may not publish to {topic!r}",
        )
        return
    glp: Glp | None = None
    properties = packet.properties
    if properties is not None and properties.user and not connection.is_peer:
        try:
            glp = core.locations.read_publication(session, properties, now)
        except GlpError as error:
            core.locations.refused(session, f"a publication to {topic!r}", error)
            _answer(connection, packet.qos, packet.packet_id, error.reason, error.text)
            return
    route = core.routes.route(topic, topic.encode())
    message = message_from(packet, topic, session.client_id, session.user, now)
    refusal = _refusal(core, message, route, connection.is_peer)
    if refusal:
        core.counters.publications_refused += 1
        if packet.qos and (connection.version != V5 or connection.is_peer):
            # 3.1.1 has no way to refuse: without an answer the client keeps the message. Nor may
            # a neighbour forget what it was given to pass on.
            raise ProtocolError(reasons.QUOTA_EXCEEDED, refusal)
        _answer(connection, packet.qos, packet.packet_id, reasons.QUOTA_EXCEEDED, refusal)
        return
    if packet.qos == 2:
        session.accept_incoming(packet.packet_id)
    if glp is not None:
        core.locations.learn(session, glp, now)
    if core.permissions.guards_positions and core.locations.place(message, now) is not None:
        distribute_guarded(core, message, route, session, now)
    elif message.retain:
        distribute_retained(core, message, route, session, now)
    else:
        distribute(message, route, session, now)
    matched = route.receivers or route.groups or route.taps
    reason = reasons.SUCCESS if matched else reasons.NO_MATCHING_SUBSCRIBERS
    _answer(connection, packet.qos, packet.packet_id, reason, "")


def message_from(packet: Publish, topic: str, publisher: str, user: str, now: float) -> Message:
    """The message of a PUBLISH, with the properties that travel on [MQTT-3.3.2-4]."""
    properties = packet.properties
    expires_at = 0.0
    if properties is not None:
        properties.topic_alias = None
        if properties.message_expiry is not None:
            expires_at = now + properties.message_expiry
    return Message(
        topic, packet.payload, packet.qos, packet.retain, properties, expires_at, publisher, user
    )


def _topic_of(connection: Connection, packet: Publish) -> str:
    properties = packet.properties
    if properties is None:
        return packet.topic
    if properties.subscription_ids:
        # [MQTT-3.3.4-6]
        raise ProtocolError(reasons.PROTOCOL_ERROR, "a client sent a subscription identifier")
    alias = properties.topic_alias
    if alias is None:
        return packet.topic
    if alias > connection.settings.max_topic_alias:
        raise ProtocolError(reasons.TOPIC_ALIAS_INVALID, f"topic alias {alias} is above the limit")
    if packet.topic:
        connection.aliases[alias] = packet.topic
        return packet.topic
    topic = connection.aliases.get(alias)
    if topic is None:
        raise ProtocolError(reasons.PROTOCOL_ERROR, f"topic alias {alias} stands for no topic")
    return topic


def _refusal(core: Core, message: Message, route: Route, by_peer: bool) -> str:
    """Why the store or the retained table cannot take this message; "" if they can."""
    if message.retain and message.payload:
        if (
            len(core.retained) >= core.settings.max_retained
            and not by_peer  # every broker of a mesh keeps the same ones
            and not core.retained.has(message.topic)
        ):
            return "the broker keeps no more retained messages"
        if not core.journal.accepts:
            return "the store is full"
    if message.qos and not core.journal.accepts:
        for receiver in route.receivers:
            if receiver.session.persistent:
                return "the store is full"
        for group in route.groups:
            for member in group.members:
                if member.session.persistent:
                    return "the store is full"
    return ""


def _answer(connection: Connection, qos: int, packet_id: int, reason: int, text: str) -> None:
    """PUBACK or PUBREC. A refusal in 3.1.1 looks like success: it has no other answer."""
    if qos == 0:
        return
    if connection.version != V5 or reason == reasons.SUCCESS:
        head = PUBACK_HEAD if qos == 1 else PUBREC_HEAD
        connection.outlet.put_promise(head + IDENTIFIERS[packet_id])
        return
    properties: Properties | None = None
    if text and connection.wants_problems:
        properties = Properties()
        properties.reason_string = text
    kind = PUBACK if qos == 1 else PUBREC
    connection.outlet.put_promise(
        encode_acknowledgement(Acknowledgement(kind, packet_id, reason, properties), V5)
    )
