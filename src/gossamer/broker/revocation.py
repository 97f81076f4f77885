"""Rights that changed under a session: what it may no longer read is taken back.

Asked at a reload for every session, and at each connect for the session that comes back, which
may come from another address than it left from; and for what comes back to a queue from the store.
"""

from typing import Final

from gossamer.broker.chores import Chore
from gossamer.broker.core import Core
from gossamer.broker.geofences import told_of
from gossamer.broker.operator_subscriptions import OperatorSubscription
from gossamer.broker.policy import Permissions
from gossamer.broker.private_aggregates import least_participants
from gossamer.broker.subscriptions import remove_subscription
from gossamer.plus.engine import read_key
from gossamer.plus.grammar import is_operator_filter
from gossamer.session.handover import withdraw
from gossamer.session.identity import Identity
from gossamer.session.message import Message
from gossamer.session.queue_policy import Guard
from gossamer.session.records import DeliveryRecord
from gossamer.session.session import Session
from gossamer.session.subscription import Subscription
from gossamer.topics.names import matches

# Subscriptions and messages that are looked at in one step, about a millisecond; a session counts
# as so many beside its own.
AT_ONCE: Final = 400
_SESSION_WEIGHT: Final = 2


def revoke(core: Core, session: Session) -> None:
    """Ends subscriptions that are not allowed any more, and takes back what waits unread."""
    if session.is_peer:
        return
    permissions = core.permissions
    identity = session.identity
    revoked: list[str] = []  # operator filters
    for subscription in list(session.subscriptions.values()):
        is_operator = isinstance(subscription, OperatorSubscription)
        is_joint = is_operator or bool(subscription.share)
        may_read = all(
            permissions.may_subscribe(identity, r, is_joint) for r in subscription.reads()
        )
        if not may_read and not _may_aggregate(permissions, identity, subscription):
            remove_subscription(core, session, subscription.record.filter)
            if is_operator:
                revoked.append(subscription.filter)
    unread: list[DeliveryRecord] = []
    for delivery in session.left_over():
        message = delivery.message
        if message is None:
            continue
        if is_operator_filter(message.topic):
            # A result is on a topic of its own; its subscription tells who may have it.
            is_readable = not any(matches(filter, message.topic) for filter in revoked)
        else:
            is_readable = permissions.may_receive(identity, told_of(message.topic))
        if not is_readable:
            unread.append(delivery)
    if unread:
        withdraw(session, unread)


def _may_aggregate(
    permissions: Permissions, identity: Identity, subscription: Subscription
) -> bool:
    """Whether it is an aggregate of at least as many topics as it needs where it may not read
    them."""
    if not isinstance(subscription, OperatorSubscription):
        return False
    state = subscription.operation.state
    try:
        options = read_key(state.key)[1]
    except ValueError:
        return False  # one with an area
    least = least_participants(permissions, identity, state.plan, options)
    return 0 < least <= options.least


def begin_revoking(core: Core) -> None:
    """The rules have changed. What is published from now on goes by the new ones, which each route
    asks; what waits for those who are connected is taken back at once, and what is left of others'
    subscriptions and queues in turns: they are looked at again before their clients come back."""
    for connection in list(core.connections.values()):
        session = connection.session
        if session is not None and session.queued():
            revoke(core, session)
    core.chores.add(_Revoking(core))


class _Revoking(Chore):
    """Looks at all sessions that there were; what came later came by the new rules."""

    def __init__(self, core: Core) -> None:
        self._permissions = core.permissions
        self._left = list(core.sessions)
        self._at = 0

    def step(self, core: Core, now: float) -> bool:
        if core.permissions is not self._permissions:
            return True  # they have changed once more: another chore has begun
        left = self._left
        weight = 0
        while self._at < len(left) and weight < AT_ONCE:
            session = core.sessions.get(left[self._at])
            self._at += 1
            weight += _SESSION_WEIGHT
            if session is not None:
                weight += len(session.subscriptions) + session.queued() + session.in_flight()
                revoke(core, session)
        return self._at >= len(left)


class QueueRights(Guard):
    """Rights may have changed while a message waited in the store: `revoke` takes back what memory
    holds, and this what comes later."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def may_have(self, queue: Session, message: Message) -> bool:
        permissions = self._core.permissions
        if not permissions.restricts or queue.is_peer:
            return True
        session = self._core.sessions.get(queue.client_id)
        if session is None:
            return False
        if is_operator_filter(message.topic):
            # A result is on a topic of its own; a subscription tells who may have it.
            return any(
                matches(subscription.filter, message.topic)
                for subscription in session.subscriptions.values()
            )
        return permissions.may_receive(session.identity, told_of(message.topic))
