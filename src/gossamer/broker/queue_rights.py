"""What the broker has to say about queues: their bounds, who may have what comes back from the
store, and what sessions that ended left there of shared groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.broker.geofences import told_of
from gossamer.broker.settings import Settings
from gossamer.broker.subscriptions import find_group
from gossamer.plus.grammar import is_operator_filter
from gossamer.session.message import Message
from gossamer.session.queue import Queue
from gossamer.session.queue_policy import Guard
from gossamer.session.session import Session
from gossamer.topics.names import matches

if TYPE_CHECKING:
    from gossamer.broker.core import Core


def bound_queue(session: Session, settings: Settings) -> None:
    """The bounds of a client's queue; a neighbour's are its own."""
    if session.is_peer:
        return
    session.queue_limit = settings.max_queued
    session.queue_bytes_limit = settings.max_queued_bytes
    session.queue_memory_limit = settings.max_queued_memory
    session.queue_policy = settings.queue_policy


class QueueRights(Guard):
    """Rights may have changed while a message waited in the store: `revocation.py` takes back what
    memory holds, and this what comes later."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def may_have(self, queue: Queue, message: Message) -> bool:
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


def look_for_room(core: Core) -> None:
    """Queues that are full because others fill the disk have room when those have left."""
    for queue in list(core.hub.full):
        queue.look_for_room()


def settle_estates(core: Core, now: float) -> None:
    """Messages of shared groups that ended sessions left in the store go to other members."""
    journal = core.journal
    for name in list(journal.estates):
        deliveries = journal.unspill(name)
        for delivery in deliveries:
            journal.spilled_removed(name, delivery, True)
            message = delivery.message
            share = delivery.share
            if message is None:
                core.counters.damaged += 1
            if share and message is not None and not message.is_expired(now):
                core.routes.sharing.hand_on(share, find_group(core, share), message, now)
