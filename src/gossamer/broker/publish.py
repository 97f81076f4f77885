"""PUBLISH from a client, with everything it may carry; plain ones take `publish_fast.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.broker.archive_port import archive_message, must_refuse
from gossamer.broker.client_aliases import set_alias
from gossamer.broker.core import Core
from gossamer.broker.delivery import (
    distribute,
    distribute_onwards,
    distribute_retained,
)
from gossamer.broker.mesh_port import (
    CONTROL_TOPIC,
    DIRECTED_TOPICS,
    MARKER_TOPIC,
    NEW,
    PASSED,
    WAVE,
)
from gossamer.broker.position_privacy import distribute_guarded
from gossamer.broker.publish_checks import answer_publish, check_quota, is_allowed
from gossamer.broker.publish_from_neighbour import distribute_arrived
from gossamer.broker.refusals import drop_refused, is_refused, is_withheld, send_again
from gossamer.broker.routes import Route
from gossamer.broker.trace_port import trace_in
from gossamer.geo.areas import GlpError
from gossamer.geo.glp import Glp
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import V5, Publish
from gossamer.wire.publish_codec import IDENTIFIERS, PUBACK_HEAD, PUBREC_HEAD

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection


def handle_publish(connection: Connection, packet: Publish, name: bytes, now: float) -> None:
    """Any PUBLISH, with everything it may carry. At QoS 1 each one is new [MQTT-4.3.2-5].

    `name` is what brokers know the message by, if a neighbour sent it and it has one.
    """
    core = connection.core
    session = connection.session
    assert session is not None
    topic = _topic_of(connection, packet)
    if connection.is_peer and topic == CONTROL_TOPIC:
        core.neighbours.control(connection, packet.payload, now)
        return
    if connection.is_peer and topic == MARKER_TOPIC:
        _handle_marker(connection, packet, now)
        return
    core.counters.messages_received += 1
    if packet.qos == 0 and not name and not session.gives_plain:
        return  # a neighbour of an earlier tree: who is to have it gets it another way
    if packet.dup and is_withheld(connection, packet.packet_id):
        return
    if packet.qos == 2:
        if session.is_incoming(packet.packet_id):
            if is_withheld(connection, packet.packet_id):
                return
            # [MQTT-4.3.3-10]
            connection.outbox.put_promise(PUBREC_HEAD + IDENTIFIERS[packet.packet_id])
            return
        check_quota(connection)
    if connection.is_peer and topic in DIRECTED_TOPICS:
        _handle_directed(connection, packet, topic, name, now)
        return
    if not is_allowed(connection, topic):
        core.counters.publications_refused += 1
        answer_publish(
            connection,
            packet.qos,
            packet.packet_id,
            reasons.NOT_AUTHORIZED,
            f"you may not publish to {topic!r}",
            False,
        )
        return
    glp: Glp | None = None
    properties = packet.properties
    if properties is not None and properties.user and not connection.is_peer:
        try:
            glp = core.locations.read_publication(session, properties, now)
        except GlpError as error:
            core.locations.refused(session, f"a publication to {topic!r}", error)
            answer_publish(
                connection, packet.qos, packet.packet_id, error.reason, error.text, False
            )
            return
    if packet.retain and not packet.payload:
        # Who removes what was retained on a topic has hardly a further use for it.
        route = core.routes.passing(topic, topic.encode())
    else:
        route = core.routes.route(topic, topic.encode())
    message = message_from(packet, topic, session, name, now)
    if not connection.is_peer:
        route.branch.published += len(topic) + len(packet.payload)
    is_archived = route.archived and not connection.is_peer
    if is_archived and packet.qos and must_refuse(core, route):
        refusal = "the archive is full"
    else:
        refusal = _refusal(core, message, route, session)
    if refusal:
        core.counters.publications_refused += 1
        if packet.qos and (connection.version != V5 or connection.is_peer):
            # 3.1.1 has no way to refuse: without an answer the client keeps the message. Nor may
            # a neighbour forget what it was given to pass on.
            raise ProtocolError(reasons.QUOTA_EXCEEDED, refusal)
        answer_publish(
            connection, packet.qos, packet.packet_id, reasons.QUOTA_EXCEEDED, refusal, False
        )
        return
    if packet.qos:
        drop_refused(core)
        if core.refusals.missed and send_again(
            connection, message, packet.packet_id, packet.dup, now
        ):
            return
    if packet.qos == 2:
        session.accept_incoming(packet.packet_id)
    if is_archived:
        archive_message(core, route, message, now)
    if glp is not None:
        core.locations.learn(session, glp, now)
    if name:
        core.hub.passing.begin()
        distribute_arrived(core, message, route, session, now)
    elif core.permissions.guards_positions and core.locations.place(message, now) is not None:
        distribute_guarded(core, message, route, session, now)
    elif message.retain:  # [MQTT-3.3.1-8]
        distribute_retained(core, message, route, session, now)
    else:
        distribute(message, route, session, now)
    if core.hub.refusing and is_refused(connection, message, packet.packet_id, now):
        return
    is_held = bool(name) and _is_held(connection, message, packet.packet_id)
    if core.tracer.follows and properties is not None:
        trace = trace_in(properties)
        if trace:
            core.tracer.published(
                trace, message, session.client_id, connection.is_peer, route.count(), now
            )
    if is_held:
        return
    matched = route.sure or route.groups or route.distant or route.taps
    reason = reasons.SUCCESS if matched else reasons.NO_MATCHING_SUBSCRIBERS
    # With a full store, what nobody keeps is answered all the same. A repeated packet may have been
    # kept the first time, and operators keep what they count.
    is_kept = core.journal.accepts or (
        packet.qos == 2
        or packet.dup
        or packet.retain
        or is_archived
        or connection.is_peer
        or len(route.taps) > 0
    )
    answer_publish(connection, packet.qos, packet.packet_id, reason, "", is_kept)


def _handle_marker(connection: Connection, packet: Publish, now: float) -> None:
    session = connection.session
    assert session is not None
    if packet.qos == 2 and not session.is_incoming(packet.packet_id):
        session.accept_incoming(packet.packet_id)
        connection.core.neighbours.marker(connection, packet.payload, now)
    answer_publish(connection, packet.qos, packet.packet_id, reasons.SUCCESS, "", True)


def _handle_directed(
    connection: Connection, packet: Publish, topic: str, name: bytes, now: float
) -> None:
    core = connection.core
    session = connection.session
    assert session is not None
    if packet.qos and not core.journal.accepts:
        raise ProtocolError(reasons.QUOTA_EXCEEDED, "the store is full")
    message = message_from(packet, topic, session, name, now)
    core.neighbours.check_directed(message)
    drop_refused(core)
    if packet.qos == 2:
        session.accept_incoming(packet.packet_id)
    verdict = NEW
    if name:
        verdict, message = core.neighbours.admit(session, message, now)
    core.hub.passing.begin()
    if verdict in (NEW, WAVE):
        core.neighbours.directed(session, message, verdict == WAVE, now)
    if verdict in (WAVE, PASSED):
        distribute_onwards(core, message, session, now)
    if core.hub.refusing and is_refused(connection, message, packet.packet_id, now):
        return
    if not _is_held(connection, message, packet.packet_id):
        answer_publish(connection, packet.qos, packet.packet_id, reasons.SUCCESS, "", True)


def _is_held(connection: Connection, message: Message, packet_id: int) -> bool:
    """Whether the answer to a neighbour waits until its message has been passed on."""
    session = connection.session
    assert session is not None
    head = PUBACK_HEAD if message.qos == 1 else PUBREC_HEAD
    answer = head + IDENTIFIERS[packet_id]
    return connection.core.hub.passing.hold(session, packet_id, answer, len(message.payload))


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


def _topic_of(connection: Connection, packet: Publish) -> str:
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
    if packet.topic:  # [MQTT-3.3.2-12]
        set_alias(connection, alias, packet.topic)
        return packet.topic
    topic = connection.aliases.get(alias)
    if topic is None:
        raise ProtocolError(reasons.PROTOCOL_ERROR, f"topic alias {alias} has not been set")
    return topic


def _refusal(core: Core, message: Message, route: Route, by: Session) -> str:
    """Why the store or the retained table cannot take this message; "" if they can."""
    if message.retain and message.payload:
        if not by.is_peer:  # every broker of a mesh keeps the same ones
            refusal = core.retained.refusal(message, by.owner, core.settings.max_retained)
            if refusal:
                return refusal
        if not core.journal.accepts:
            return "the store is full"
    if message.qos and not core.journal.accepts:
        for receiver in route.sure:
            if receiver.session.persistent:
                return "the store is full"
        for group in route.groups:
            for member in group.members:
                if member.session.persistent:
                    return "the store is full"
    return ""
