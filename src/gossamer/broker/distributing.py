"""From one message to its receivers: subscriptions, shared groups, and the retained copy."""

from gossamer.broker.core import Core
from gossamer.broker.routes import Group, Route
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver


def distribute(message: Message, route: Route, origin: Session | None, now: float) -> None:
    """Delivers to everybody on the route; `origin` is the publishing session, if it has one."""
    for receiver in route.receivers:
        session = receiver.session
        if session is origin:
            own = receiver.for_own_message()
            if own is None:
                continue  # [MQTT-3.8.3-3]
            session.deliver(message, own, now)
        else:
            session.deliver(message, receiver, now)
    for group in route.groups:
        give_to_group(group, message, now)


def give_to_group(group: Group, message: Message, now: float) -> None:
    """One member of a shared subscription gets it."""
    member = group.choose()
    if member is None:
        return
    receiver = Receiver(member)
    qos = min(message.qos, receiver.qos)
    if qos == 0:
        member.session.deliver(message, receiver, now)
    else:
        retain = message.retain and receiver.retain_as_published
        member.session.enqueue(message, qos, retain, receiver.identifiers, group.name, now)


def publish(core: Core, message: Message, origin: Session | None, now: float) -> None:
    """A message that needs no answer: a will, a report of the broker's own."""
    if message.retain:
        core.retained.keep(message)
    distribute(message, core.routes.route(message.topic, message.topic_bytes), origin, now)
