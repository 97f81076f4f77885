"""A message as PUBLISH into a client's outlet: in the encoding all receivers share, if it can."""

from gossamer.session.aliases import TopicAliases
from gossamer.session.frames import IDENTIFIERS, special_publish
from gossamer.session.message import Message
from gossamer.session.outlet import Outlet
from gossamer.session.subscription import NO_IDENTIFIERS
from gossamer.wire.packets import V5


def send(
    outlet: Outlet,
    aliases: TopicAliases | None,
    message: Message,
    qos: int,
    retain: bool,
    dup: bool,
    packet_id: int,
    identifiers: list[int],
    now: float,
) -> bool:
    """False if the packet is over the client's maximum, and so was not sent [MQTT-3.1.2-24]."""
    if retain or dup or identifiers or message.expires_at or aliases is not None:
        return _send_special(
            outlet, aliases, message, qos, retain, dup, packet_id, identifiers, now
        )
    version = outlet.version
    is_named = outlet.names and message.name != b""
    head = message.named_head(qos) if is_named else message.head(version, qos)
    if qos == 0:
        if len(head) > outlet.maximum_packet:
            return False
        outlet.messages += 1
        outlet.put(head)
        return True
    tail = message.named_tail() if is_named else message.tail(version)
    if len(head) + 2 + len(tail) > outlet.maximum_packet:
        return False
    outlet.messages += 1
    if qos == 1:
        outlet.put(head)
        outlet.put(IDENTIFIERS[packet_id])
        outlet.put(tail)
    else:
        # Exactly once: the identifier must be on disk before the client sees it.
        outlet.put_promise(head + IDENTIFIERS[packet_id] + tail)
    return True


def _send_special(
    outlet: Outlet,
    aliases: TopicAliases | None,
    message: Message,
    qos: int,
    retain: bool,
    dup: bool,
    packet_id: int,
    identifiers: list[int],
    now: float,
) -> bool:
    """With flags, remaining expiry, identifiers or an alias that fit this receiver only."""
    version = outlet.version
    alias = 0
    is_known = False
    if aliases is not None:
        alias = aliases.number_of(message.topic)
        is_known = alias != 0
        # What waits for a commit must not be the first to name a topic that others use.
        if not is_known and qos != 2:
            alias = aliases.free_number(message.topic)
    packet = special_publish(
        message,
        version,
        qos,
        retain,
        dup,
        packet_id,
        identifiers if version == V5 else NO_IDENTIFIERS,
        alias,
        is_known,
        now,
        message.name if outlet.names else b"",
    )
    if len(packet) > outlet.maximum_packet:
        return False
    if aliases is not None and alias and not is_known:
        aliases.introduce(message.topic, alias)
    outlet.messages += 1
    if qos == 2:
        outlet.put_promise(packet)
    else:
        outlet.put(packet)
    return True
