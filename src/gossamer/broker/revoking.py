"""Rights that changed under a session: what it may no longer read is taken back.

Asked at a reload for every session, and at each connect for the session that comes back, which
may come from another address than it left from.
"""

from gossamer.broker.core import Core
from gossamer.broker.neighbours import PEER_PREFIX
from gossamer.session.message import Message
from gossamer.session.records import DeliveryRecord
from gossamer.session.session import Session


def revoke(core: Core, session: Session) -> None:
    """Ends subscriptions that are not allowed any more, and takes back what waits unread."""
    if session.is_peer:
        return
    permissions = core.permissions
    identity = session.identity
    for subscription in list(session.subscriptions.values()):
        is_shared = bool(subscription.share)
        if not permissions.may_subscribe(identity, subscription.filter, is_shared):
            remove_subscription(core, session, subscription.record.filter)
    unread: list[DeliveryRecord] = []
    for delivery in session.left_over():
        message = delivery.message
        if message is not None and not permissions.may_receive(identity, message.topic):
            unread.append(delivery)
    if unread:
        session.withdraw(unread)


def remove_subscription(core: Core, session: Session, filter: str) -> bool:
    """What is already on its way is still delivered [MQTT-3.10.4-3]."""
    subscription = session.subscriptions.pop(filter, None)
    if subscription is None:
        return False
    core.routes.remove(subscription)
    core.counters.subscriptions -= 1
    core.neighbours.unwanted(subscription.filter, session)
    if session.persistent:
        core.journal.subscription_removed(session.client_id, filter)
    return True


def readable(core: Core, session: Session, messages: list[Message]) -> list[Message]:
    """The retained messages that the session may see and that their publishers may still show."""
    permissions = core.permissions
    return [
        message
        for message in messages
        if permissions.may_receive(session.identity, message.topic)
        and (
            message.topic.startswith("$SYS/")
            or message.publisher.startswith(PEER_PREFIX)  # judged where it was published
            or permissions.may_have_published(message.user, message.publisher, message.topic)
        )
    ]
