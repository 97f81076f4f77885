"""PUBLISH from a neighbour: control messages, markers, directed messages, and what clients of other
brokers published.

Nothing of it is asked for permission, counted against a quota or archived: that was done where it
was published. A message may have a name, by which it is known if it comes by two ways, and may have
to go to everybody. Its answer can wait until it has been passed on (`session/onward_acks.py`).

A message that cannot be taken in is refused for good, in nobody's way. A neighbour sends again what
it has no answer for. If the link ended, the message would come first at every new connection and
end that too, and nothing behind it would ever arrive. So it is refused in an answer of its own,
counted and logged, and the link goes on behind it: the packet was whole, so it is known where the
next one begins. The link does end where the neighbour has to wait (a full store, no memory), and
for control messages: the two ends would disagree about what was said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.core import OPEN, Core
from gossamer.broker.delivery import (
    deliver,
    deliver_guarded,
    deliver_here,
    deliver_onwards,
    is_guarded,
)
from gossamer.broker.mesh_port import (
    CONTROL_TOPIC,
    DIRECTED_TOPICS,
    MARKER_TOPIC,
    NEW,
    PASSED,
    REBROADCAST,
    REPEATED,
)
from gossamer.broker.neighbour_runs import check_run, deliver_whole
from gossamer.broker.publish import (
    is_repeated,
    known_route,
    message_from,
    route_of,
    store_refusal,
    topic_end,
    topic_of,
)
from gossamer.broker.publish_bursts import end_of_run
from gossamer.broker.refusals import drop_refused, is_refused, is_withheld
from gossamer.broker.routes import Route
from gossamer.session.incoming import accept_incoming, is_incoming, refuse_incoming
from gossamer.session.link_properties import named_at, without_name, without_publisher
from gossamer.session.message import Message
from gossamer.session.message_names import count_of
from gossamer.session.publisher import LONGEST_PUBLISHER, publisher_behind
from gossamer.session.session import Session
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import PUBLISH, Publish
from gossamer.wire.publish_codec import (
    IDENTIFIERS,
    PUBACK_HEAD,
    PUBREC_HEAD,
    decode_publish,
)

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection

_PLAIN: Final = 0x30  # QoS 0, not retained
_CONTROL: Final = CONTROL_TOPIC.encode()
_LONGEST_SHOWN: Final = 64  # of a topic in the log


def pass_on_plain(
    connection: Connection, data: bytes, head: int, start: int, body: int, stop: int, now: float
) -> bool:
    """QoS 1 or 2 with a name at most: the reading of a packet where it lies, as in `publish_plain`.
    False if the packet has to be decoded."""
    after_topic = topic_end(data, body, stop)
    properties = after_topic + 2
    payload = properties + 1
    if after_topic < 0 or payload > stop:
        return False
    packet_id = data[after_topic] << 8 | data[after_topic + 1]
    name = b""
    if data[properties] != 0:
        length = named_at(data, properties)
        payload += 1 + length
        if length == 0 or payload > stop:
            return False
        name = data[properties + 2 : payload]
    if packet_id == 0:
        return False
    route = known_route(connection, data[body + 2 : after_topic])
    if route is None:
        return False
    connection.core.counters.messages_received += count_of(name)
    qos = head >> 1 & 3
    if qos == 2 and is_repeated(connection, packet_id):
        return True
    session = connection.session
    assert session is not None
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
        name,
    )
    if name:
        message.preset_named(data[start:after_topic], data[properties:stop])
    else:
        message.preset_head(connection.version, data[start:after_topic], data[properties:stop])
    check_run(message)
    _pass_on(connection, route, message, packet_id, now)
    return True


def handle_from_neighbour(connection: Connection, head: int, body: bytes, now: float) -> None:
    """Any PUBLISH from a neighbour."""
    name = b""
    publisher = b""
    after_topic = topic_end(body, 0, len(body))
    if after_topic >= 0:
        properties = after_topic + (2 if head & 0x06 else 0)
        name, body = without_name(body, properties)
        publisher, body = without_publisher(body, properties)
    limit = connection.settings.max_user_properties
    packet = decode_publish(head, body, connection.version, limit)
    core = connection.core
    session = connection.session
    assert session is not None
    topic = topic_of(connection, packet)
    if topic == CONTROL_TOPIC:
        core.neighbours.control(connection, packet.payload, now)
        return
    if topic == MARKER_TOPIC:
        _handle_marker(connection, session, packet, now)
        return
    core.counters.messages_received += count_of(name)
    if packet.qos == 0 and not name and not session.gives_plain:
        return  # a neighbour of an earlier tree: who is to have it gets it another way
    packet_id = packet.packet_id
    if packet.dup and is_withheld(connection, packet_id):
        return
    if packet.qos == 2 and is_repeated(connection, packet_id):
        return
    if topic in DIRECTED_TOPICS:
        message = message_from(packet, topic, session, name, now)
        _handle_directed(connection, session, message, packet_id, now)
        return
    route = route_of(connection, packet, topic)
    if route is not None:
        message = message_from(packet, topic, session, name, now)
        if publisher:
            behind = publisher_behind(session.client_id, _client_id(publisher))
            message = message.changed(publisher=behind)
        check_run(message)
        _pass_on(connection, route, message, packet_id, now)
    else:
        core.counters.publications_refused += 1
        text = f"you may not publish to {topic!r}"
        connection.answer(packet.qos, packet_id, reasons.NOT_AUTHORIZED, text, False)


def _pass_on(
    connection: Connection, route: Route, message: Message, packet_id: int, now: float
) -> None:
    """What a client of another broker published: to those here, and to other neighbours."""
    core = connection.core
    session = connection.session
    assert session is not None
    refusal = store_refusal(core, message, route)
    if refusal:
        core.counters.publications_refused += 1
        if message.qos:  # it must not forget what it was given to pass on
            raise ProtocolError(reasons.QUOTA_EXCEEDED, refusal)
        return
    if message.qos and core.hub.refusing:
        drop_refused(core)
    if message.qos == 2:
        accept_incoming(session, packet_id)
    if message.name:
        core.hub.passing.begin()
        if not message.is_run():
            _deliver_named(core, message, route, session, now)
        elif not deliver_whole(core, message, route.audience, session, now):
            for single in message.singles():
                _deliver_named(core, single, route, session, now)
    else:
        _deliver_new(core, message, route, session, now)
    if core.hub.refusing and is_refused(connection, message, packet_id, now):
        return
    if core.tracer.follows:
        core.tracer.follow(message, session, route.audience.count(), now)
    _answer(connection, session, message, packet_id)


def _deliver_new(core: Core, message: Message, route: Route, origin: Session, now: float) -> None:
    """To whoever wants it; if that is nobody, it came for nothing. What is retained goes to all."""
    before = core.counters.taken
    deliver(core, message, route, origin, now)
    if (
        core.counters.taken == before
        and not message.retain
        and not route.audience.is_wanted(origin)
    ):
        core.counters.needless += 1


def _client_id(publisher: bytes) -> str:
    try:
        told = publisher.decode()
    except UnicodeDecodeError:
        told = "\0"
    if "\0" in told or len(publisher) > LONGEST_PUBLISHER:
        raise ProtocolError(reasons.MALFORMED_PACKET, "a malformed publisher")
    return told


def _deliver_named(core: Core, message: Message, route: Route, origin: Session, now: float) -> None:
    """Once for each name, whatever way it takes."""
    verdict, message = core.neighbours.admit(origin, message, now)
    if verdict == REPEATED:
        return
    if verdict == PASSED:
        deliver_onwards(core, message, origin, now)
    elif verdict == NEW or message.retain:
        _deliver_new(core, message, route, origin, now)  # what is retained goes to all anyway
    else:
        if is_guarded(core, message, now):
            deliver_guarded(core, message, route.audience, origin, now, here_only=True)
        else:
            deliver_here(message, route.audience, origin, now)
        deliver_onwards(core, message, origin, now)


def _handle_marker(connection: Connection, session: Session, packet: Publish, now: float) -> None:
    if packet.qos == 2 and not is_incoming(session, packet.packet_id):
        accept_incoming(session, packet.packet_id)
        connection.core.neighbours.marker(connection, packet.payload, now)
    connection.answer(packet.qos, packet.packet_id, reasons.SUCCESS, "", True)


def _handle_directed(
    connection: Connection, session: Session, message: Message, packet_id: int, now: float
) -> None:
    """What is for one broker only, this one or another."""
    core = connection.core
    if message.qos and not core.journal.accepts:
        raise ProtocolError(reasons.QUOTA_EXCEEDED, "the store is full")
    core.neighbours.check_directed(message)
    drop_refused(core)
    if message.qos == 2:
        accept_incoming(session, packet_id)
    verdict = NEW
    if message.name:
        verdict, message = core.neighbours.admit(session, message, now)
    core.hub.passing.begin()
    if verdict in (NEW, REBROADCAST):
        core.neighbours.directed(session, message, verdict == REBROADCAST, now)
    if verdict in (REBROADCAST, PASSED):
        deliver_onwards(core, message, session, now)
    if core.hub.refusing and is_refused(connection, message, packet_id, now):
        return
    _answer(connection, session, message, packet_id)


def _answer(connection: Connection, session: Session, message: Message, packet_id: int) -> None:
    """Now, or once it has been passed on."""
    passing = connection.core.hub.passing
    answer = (PUBACK_HEAD if message.qos == 1 else PUBREC_HEAD) + IDENTIFIERS[packet_id]
    if not passing.hold(session, packet_id, answer, len(message.payload)):
        connection.answer(message.qos, packet_id, reasons.SUCCESS, "", True)


# What cannot be taken in ------------------------------------------------------------------------


def set_aside(
    connection: Connection,
    data: bytes,
    start: int,
    body: int,
    stop: int,
    error: Exception,
    now: float,
) -> int:
    """The packet at `start` caused this error: where the link goes on, or -1 if it has to end."""
    head = data[start]
    if head >> 4 != PUBLISH or connection.stage != OPEN or not _is_final(error):
        return -1
    after_topic = topic_end(data, body, stop)
    topic = b"" if after_topic < 0 else data[body + 2 : after_topic]
    qos = head >> 1 & 3
    if not topic or topic == _CONTROL or after_topic + (2 if qos else 0) > stop or qos == 3:
        return -1
    shown = topic[:_LONGEST_SHOWN].decode("utf-8", "replace")
    _note(connection, error, f"on {shown!r}", now)
    drop_refused(connection.core)
    connection.core.hub.passing.end()  # it may have been on its way already
    if qos == 0:
        if head == _PLAIN and after_topic < stop and data[after_topic] == 0:
            # The packets that it was handled with may have reached some of their receivers.
            return end_of_run(data, start, after_topic + 1, stop - start)
        return stop
    packet_id = data[after_topic] << 8 | data[after_topic + 1]
    if packet_id == 0:
        return -1
    session = connection.session
    assert session is not None
    refuse_incoming(session, packet_id)
    reason = reasons.IMPLEMENTATION_SPECIFIC_ERROR
    text = "internal error in the broker"
    if isinstance(error, ProtocolError):
        reason = reasons.PAYLOAD_FORMAT_INVALID
        text = error.text
    connection.answer(qos, packet_id, reason, text, True)
    return stop


def _is_final(error: Exception) -> bool:
    """Whether another try would end like this one."""
    if isinstance(error, ProtocolError):
        return error.reason != reasons.QUOTA_EXCEEDED
    return not isinstance(error, MemoryError)


def _note(connection: Connection, error: Exception, what: str, now: float) -> None:
    core = connection.core
    if isinstance(error, ProtocolError):
        core.counters.protocol_errors += 1
        core.neighbours.set_aside(connection, f"{what}: {error.text}", now)
    else:
        client_id = connection.identity.client_id
        core.faults.note("a neighbour's message", error, f"{client_id} {what}", now)
        core.neighbours.set_aside(connection, what, now)
