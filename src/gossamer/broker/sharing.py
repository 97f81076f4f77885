"""Shared subscriptions: each message goes to one member of the group."""

from gossamer.broker.routes import Group
from gossamer.session.message import Message
from gossamer.session.subscription import Receiver


def give_to_group(group: Group, message: Message, now: float) -> None:
    """One member of a shared subscription gets it: a copy of its own, beside any that the
    member's other subscriptions bring [MQTT-3.3.4-5]."""
    member = group.choose(message, now)
    if member is None:
        return
    receiver = Receiver(member)
    qos = min(message.qos, receiver.qos)  # [MQTT-4.8.2-3]
    if qos == 0:
        member.session.deliver(message, receiver, now)
    else:
        retain = message.retain and receiver.retain_as_published
        member.session.enqueue(message, qos, retain, receiver.identifiers, group.name, now)
