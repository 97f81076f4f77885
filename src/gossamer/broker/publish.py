"""PUBLISH from a client: permission, quota, archive, delivery and answer, each written once.

Two readers make the same of a packet, a `Message` and the route of its topic, and give it to
`take`. `publish_plain` reads packets without flags and properties where they lie in the chunk: they
are nearly all that comes, and a decoded packet would cost more than the rest of their way.
`handle_publish` has what the codec decoded, with everything that a packet may carry. QoS 0 without
flags goes on in whole runs (`publish_bursts.py`); what a neighbour sends is another matter
(`publish_from_neighbour.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.archive_port import archive_message, must_refuse
from gossamer.broker.charges import INCOMING_STEP, why_no_more_incoming
from gossamer.broker.delivery import deliver
from gossamer.broker.mesh_port import LOCAL_TOPICS, SHARED_TOPICS
from gossamer.broker.offload import may_use
from gossamer.broker.refusals import drop_refused, is_refused, is_withheld, send_again
from gossamer.broker.routes import Route
from gossamer.geo.areas import GlpError
from gossamer.geo.earth import Point
from gossamer.geo.geolocation import Place
from gossamer.plus.publication import ttl_trouble
from gossamer.session.incoming import accept_incoming, is_incoming
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.topics.names import TopicError, check_name
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import V5, Publish
from gossamer.wire.scalars import decode_text

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection
    from gossamer.broker.core import Core

# Written by the broker alone.
RESERVED: Final = ("$SYS/", "$share/", "$gossamer/", SHARED_TOPICS, "$GEO/")


def publish_plain(
    connection: Connection, data: bytes, head: int, start: int, body: int, stop: int, now: float
) -> bool:
    """QoS 1 or 2 without other flags or properties. False if the packet has to be decoded."""
    version = connection.version
    after_topic = topic_end(data, body, stop)
    payload = after_topic + 3 if version == V5 else after_topic + 2
    if after_topic < 0 or payload > stop or (version == V5 and data[payload - 1] != 0):
        return False
    packet_id = data[after_topic] << 8 | data[after_topic + 1]
    if packet_id == 0:
        return False
    route = known_route(connection, data[body + 2 : after_topic])
    if route is None:
        return False
    connection.core.counters.messages_received += 1
    qos = head >> 1 & 3
    if qos == 2 and is_repeated(connection, packet_id):
        return True
    session = connection.session
    assert session is not None
    content = data[payload:stop]
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
    )
    if route.audience.sure:  # what came in can go out as it is, but for the packet identifier
        tail = data[after_topic + 2 : stop] if version == V5 else content
        message.preset_head(version, data[start:after_topic], tail)
    take(connection, route, message, packet_id, False, None, "", now)
    return True


def topic_end(data: bytes, body: int, stop: int) -> int:
    """Where the topic name of a PUBLISH ends whose body is there; -1 if the body is too short. At
    QoS 1 and 2 the packet identifier follows, in 5.0 the properties, then the payload."""
    if body + 2 > stop:
        return -1
    end = body + 2 + (data[body] << 8 | data[body + 1])
    return end if end <= stop else -1


def handle_publish(connection: Connection, packet: Publish, now: float) -> None:
    """Any PUBLISH. At QoS 1 each one is new [MQTT-4.3.2-5]."""
    core = connection.core
    session = connection.session
    assert session is not None
    topic = topic_of(connection, packet)
    core.counters.messages_received += 1
    if packet.dup and is_withheld(connection, packet.packet_id):
        return
    if packet.qos == 2 and is_repeated(connection, packet.packet_id):
        return
    route = route_of(connection, packet, topic)
    if route is None:
        text = f"you may not publish to {topic!r}"
        _refuse(connection, packet.qos, packet.packet_id, reasons.NOT_AUTHORIZED, text)
        return
    place: Place | None = None
    position: Point | None = None
    note = ""
    if packet.properties is not None and packet.properties.user:
        try:
            place, position = core.locations.read_publication(session, packet.properties, now)
        except GlpError as error:
            core.locations.refused(session, f"a publication to {topic!r}", error)
            connection.answer(packet.qos, packet.packet_id, error.reason, error.text, False)
            return
        note = ttl_trouble(packet.properties.user) if packet.qos else ""
    message = message_from(packet, topic, session, b"", now)
    if packet.retain:
        why_not = core.places.why_not(message)
        if why_not:
            _refuse(
                connection, packet.qos, packet.packet_id, reasons.PAYLOAD_FORMAT_INVALID, why_not
            )
            return
    core.locations.keep_place(message, place)
    take(connection, route, message, packet.packet_id, packet.dup, position, note, now)


def take(
    connection: Connection,
    route: Route,
    message: Message,
    packet_id: int,
    is_dup: bool,
    position: Point | None,
    note: str,
    now: float,
) -> None:
    """What a client may publish there: taken in, delivered and answered, or refused.

    `position` is where the client says it is. `note` goes with the answer.
    """
    core = connection.core
    session = connection.session
    assert session is not None
    qos = message.qos
    audience = route.audience
    route.branch.published += len(route.topic_bytes) + len(message.payload)
    if route.archived or message.retain or not core.journal.accepts:
        refusal = _refusal(core, message, route, session)
        if refusal:
            if qos and connection.version != V5:
                # 3.1.1 has no way to refuse: without an answer the client keeps the message.
                core.counters.publications_refused += 1
                raise ProtocolError(reasons.QUOTA_EXCEEDED, refusal)
            _refuse(connection, qos, packet_id, reasons.QUOTA_EXCEEDED, refusal)
            return
    if qos:
        if core.hub.refusing:
            drop_refused(core)
        if core.refusals.missed and send_again(connection, message, packet_id, is_dup, now):
            return
        if qos == 2:
            accept_incoming(session, packet_id)
    if route.archived:
        archive_message(core, route, message, now)
    if position is not None:
        core.locations.moved(session, position, now)
    if message.properties is None and not message.retain:
        audience.deliver(message, session, now)  # it has no place, and nothing of it is kept
    else:
        deliver(core, message, route, session, now)
    if core.hub.refusing and is_refused(connection, message, packet_id, now):
        return
    if core.tracer.follows:
        core.tracer.follow(message, session, audience.count(), now)
    # With a full store, what nobody keeps is answered all the same. A repeated packet may have been
    # kept the first time, and operators keep what they count.
    is_kept = core.journal.accepts or (
        qos == 2 or is_dup or message.retain or route.archived or len(audience.taps) > 0
    )
    if note:
        reason = reasons.SUCCESS if audience.is_anybody() else reasons.NO_MATCHING_SUBSCRIBERS
        connection.answer(qos, packet_id, reason, note, is_kept)
    elif qos and audience.is_anybody():
        connection.outbox.acknowledge(qos, packet_id, is_kept)
    else:
        connection.answer(qos, packet_id, reasons.NO_MATCHING_SUBSCRIBERS, "", is_kept)


def takes_without_a_look(core: Core, route: Route) -> bool:
    """Whether `take` would decide nothing of a publication without flags there but that everybody
    gets it, the archive too, and its publisher the plain answer. Then a whole run is taken at once.
    """
    audience = route.audience
    return (
        bool(audience.sure)
        and not (audience.groups or audience.distant or audience.taps or audience.conditional)
        and (not route.archived or core.archive.accepts)
        and core.journal.accepts
        and not (core.hub.refusing or core.refusals.missed or core.tracer.follows)
    )


# Permission -------------------------------------------------------------------------------------


def known_route(connection: Connection, topic_bytes: bytes) -> Route | None:
    """The route of a topic this connection may publish to and has used before, or may use now."""
    core = connection.core
    topics = connection.topics
    if topics.seen_policy != core.policy_changes:
        topics.forget_known(connection.owner)
        topics.seen_policy = core.policy_changes
    route = topics.known.get(topic_bytes)
    if route is None:
        route = core.routes.find(topic_bytes)
        if route is None:
            topic = decode_text(topic_bytes, 0, len(topic_bytes), "the topic name")
            if not topic or "+" in topic or "#" in topic or not is_allowed(connection, topic):
                return None
            route = core.routes.route(topic, topic_bytes)
        elif not is_allowed(connection, route.topic):
            return None
        if route.is_cached:
            topics.remember(route, connection.owner)
    elif route.seen_branch != route.branch.changes or route.seen_all != core.routes.changes:
        renewed = core.routes.renewed(route)
        if renewed is not route:
            topics.known[topic_bytes] = renewed
            route = renewed
    return route


def route_of(connection: Connection, packet: Publish, topic: str) -> Route | None:
    """As `known_route`; but nothing is kept of a topic that is hardly used again: who removes what
    was retained on it is done with it, and so may be who retains something there for the first
    time. Of those there may be a million."""
    core = connection.core
    topic_bytes = topic.encode()
    if not packet.retain:
        return known_route(connection, topic_bytes)
    if packet.payload and (topic_bytes in connection.topics.known or core.retained.has(topic)):
        return known_route(connection, topic_bytes)
    if not is_allowed(connection, topic):
        return None
    return core.routes.passing(topic, topic_bytes)


def is_allowed(connection: Connection, topic: str) -> bool:
    """Whether it may publish here; a topic the broker cannot take is an error."""
    try:
        check_name(topic, connection.settings.max_levels)
    except TopicError as error:
        raise ProtocolError(reasons.TOPIC_NAME_INVALID, str(error)) from None
    if connection.is_peer:
        return not topic.startswith(LOCAL_TOPICS)
    if topic.startswith(RESERVED) and not may_use(connection.core, connection.identity, topic):
        return False
    return connection.core.permissions.may_publish(connection.identity, topic)


# Quota ------------------------------------------------------------------------------------------


def is_repeated(connection: Connection, packet_id: int) -> bool:
    """Whether a QoS 2 publication was accepted before: then it is answered once more
    [MQTT-4.3.3-10]. A new one must be within the client's quota, or is an error."""
    session = connection.session
    assert session is not None
    if is_incoming(session, packet_id):
        if not is_withheld(connection, packet_id):
            connection.outbox.acknowledge(2, packet_id)
        return True
    _check_quota(connection, session)
    return False


def accept_new(connection: Connection, data: bytes, at: int, size: int, most: int) -> int:
    """Accepts the QoS 2 publications of a run, whose first identifier is at `at`, up to one that
    was accepted before, or is at the limit of a quota. Answers how many that were."""
    session = connection.session
    assert session is not None
    held = 0 if session.incoming is None else len(session.incoming)
    if connection.version == V5:
        quota = connection.settings.receive_maximum + connection.unreleased_before
        most = min(most, quota - held)
    most = min(most, -held % INCOMING_STEP if held else INCOMING_STEP)
    count = 0
    while count < most:
        packet_id = data[at] << 8 | data[at + 1]
        if is_incoming(session, packet_id):
            break
        accept_incoming(session, packet_id)
        at += size
        count += 1
    return count


def _check_quota(connection: Connection, session: Session) -> None:
    """[MQTT-3.3.4-7]: a client must not have more in flight than we announced.

    QoS 1 is answered at once. The quota starts anew with each connection (4.9 of 5.0).
    """
    incoming = session.incoming
    if incoming is None or connection.is_peer:
        return
    most = connection.settings.receive_maximum
    if connection.version == V5 and len(incoming) - connection.unreleased_before >= most:
        raise ProtocolError(
            reasons.RECEIVE_MAXIMUM_EXCEEDED, f"more than {most} publications are unreleased"
        )
    if incoming and len(incoming) % INCOMING_STEP == 0:
        refusal = why_no_more_incoming(connection.core, session)
        if refusal:
            raise ProtocolError(reasons.QUOTA_EXCEEDED, refusal)


def _refusal(core: Core, message: Message, route: Route, by: Session) -> str:
    """Why archive, store or retained table cannot take this message; "" if they can."""
    if message.qos and must_refuse(core, route):
        return "the archive is full"
    if message.retain and message.payload:
        refusal = core.retained.refusal(message, by.owner, core.settings.max_retained)
        if refusal:
            return refusal
    return store_refusal(core, message, route)


def store_refusal(core: Core, message: Message, route: Route) -> str:
    """Why the store cannot take this message; "" if it can, or need not."""
    if core.journal.accepts:
        return ""
    is_stored = message.retain and bool(message.payload)
    if message.qos and not is_stored:
        is_stored = any(receiver.session.persistent for receiver in route.audience.sure) or any(
            member.session.persistent for group in route.audience.groups for member in group.members
        )
    return "the store is full" if is_stored else ""


def _refuse(connection: Connection, qos: int, packet_id: int, reason: int, text: str) -> None:
    connection.core.counters.publications_refused += 1
    connection.answer(qos, packet_id, reason, text, False)


# The decoded packet -----------------------------------------------------------------------------


def topic_of(connection: Connection, packet: Publish) -> str:
    """The packet's topic, by its alias if it has one."""
    properties = packet.properties
    if properties is None:
        return packet.topic
    if properties.subscription_ids:
        # [MQTT-3.3.4-6]
        raise ProtocolError(
            reasons.PROTOCOL_ERROR, "a client must not send a subscription identifier"
        )
    alias = properties.topic_alias
    if alias is None:
        return packet.topic
    if alias > connection.settings.max_topic_alias:  # [MQTT-3.3.2-9]
        raise ProtocolError(reasons.TOPIC_ALIAS_INVALID, f"topic alias {alias} is above the limit")
    if packet.topic:
        connection.topics.set_alias(alias, packet.topic, connection.owner)
        return packet.topic
    topic = connection.topics.aliases.get(alias)
    if topic is None:
        raise ProtocolError(reasons.PROTOCOL_ERROR, f"topic alias {alias} has not been set")
    return topic


def message_from(packet: Publish, topic: str, session: Session, name: bytes, now: float) -> Message:
    """The message of a PUBLISH, with the properties that travel on, unaltered and in order.

    [MQTT-3.3.2-4], [MQTT-3.3.2-15], [MQTT-3.3.2-16], [MQTT-3.3.2-17], [MQTT-3.3.2-18],
    [MQTT-3.3.2-20]
    """
    properties = packet.properties
    expires_at = 0.0
    if properties is not None:
        properties.topic_alias = None
        if properties.message_expiry is not None:
            expires_at = now + properties.message_expiry
    return Message(
        topic,
        packet.payload,
        packet.qos,
        packet.retain,
        properties,
        expires_at,
        session.client_id,
        session.user,
        name=name,
    )
