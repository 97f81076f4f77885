"""What every PUBLISH has to pass, on either road, and the answer that it gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.charges import INCOMING_STEP, why_no_more_incoming
from gossamer.broker.mesh_port import LOCAL_TOPICS, SHARED_TOPICS
from gossamer.broker.offload import may_use
from gossamer.broker.replies import spelled
from gossamer.topics.names import TopicError, check_name
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import PUBACK, PUBREC, V5, Acknowledgement
from gossamer.wire.properties import Properties
from gossamer.wire.publish_codec import IDENTIFIERS, PUBACK_HEAD, PUBREC_HEAD

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection

# Written by the broker alone.
RESERVED: Final = ("$SYS/", "$share/", "$gossamer/", SHARED_TOPICS, "$GEO/")


def is_allowed(connection: Connection, topic: str) -> bool:
    """Whether this client may publish here; a topic the broker cannot take is an error."""
    try:
        check_name(topic, connection.settings.max_levels)
    except TopicError as error:
        raise ProtocolError(reasons.TOPIC_NAME_INVALID, str(error)) from None
    if connection.is_peer:
        return not topic.startswith(LOCAL_TOPICS)
    if topic.startswith(RESERVED) and not may_use(connection.core, connection.identity, topic):
        return False
    return connection.core.permissions.may_publish(connection.identity, topic)


def check_quota(connection: Connection) -> None:
    """[MQTT-3.3.4-7]: a client must not have more in flight than we announced.

    QoS 1 is answered at once. The quota starts anew with each connection (4.9 of 5.0).
    """
    session = connection.session
    assert session is not None
    incoming = session.incoming
    if (
        incoming is not None
        and connection.version == V5
        and not connection.is_peer
        and len(incoming) - connection.unreleased_before >= connection.settings.receive_maximum
    ):
        raise ProtocolError(
            reasons.RECEIVE_MAXIMUM_EXCEEDED,
            f"more than {connection.settings.receive_maximum} publications are unreleased",
        )
    if incoming is not None and len(incoming) % INCOMING_STEP == 0 and not connection.is_peer:
        refusal = why_no_more_incoming(connection.core, session) if incoming else ""
        if refusal:
            raise ProtocolError(reasons.QUOTA_EXCEEDED, refusal)


def answer_publish(
    connection: Connection, qos: int, packet_id: int, reason: int, text: str, is_kept: bool
) -> None:
    """PUBACK [MQTT-4.3.2-4] or PUBREC [MQTT-4.3.3-8]; a refusing one frees the identifier
    [MQTT-4.3.3-9]. In 3.1.1 a refusal looks like success, by its [MQTT-3.3.5-2].

    Where nothing of the publication is kept, the answer promises nothing and waits for no disk.
    """
    if qos == 0:  # [MQTT-3.3.4-1]
        return
    outbox = connection.outbox
    if connection.version != V5 or reason == reasons.SUCCESS:
        head = PUBACK_HEAD if qos == 1 else PUBREC_HEAD
        data = head + IDENTIFIERS[packet_id]  # [MQTT-2.2.1-5]
    else:
        properties: Properties | None = None
        if text and connection.wants_problems:  # [MQTT-3.1.2-29]
            properties = Properties()
            properties.reason_string = text
        kind = PUBACK if qos == 1 else PUBREC
        data = spelled(outbox, Acknowledgement(kind, packet_id, reason, properties))
        if not data:
            return
    if is_kept:
        outbox.put_promise(data)
    else:
        outbox.put_in_order(data)
