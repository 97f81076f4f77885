"""Retained messages for a subscription: sent at the client's own pace, owed by name until then.

A SUBSCRIBE may name a filter many times, and there may be a million retained messages; a client
that does not read must not make the broker remember each delivery. So a session only knows which
filters it is owed. When its queue is empty the next slice is looked up and queued. A filter that is
subscribed again before its messages were sent is owed once, from the beginning: the subscription
that it replaces is no more [MQTT-3.8.4-3], and for the one in its place all of them are sent
[MQTT-3.8.4-4].

What is owed to a session that outlives its connection outlives the broker too. Then the last of
each topic is sent, also of those that changed while the client was away.
"""

from __future__ import annotations

from typing import Final

from gossamer.broker.core import Core
from gossamer.broker.delivery import fitting, is_shown
from gossamer.broker.geofences import LocatedSubscription
from gossamer.broker.operator_subscriptions import OperatorSubscription
from gossamer.geo.overlap import Effort
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.session.subscription import ANY, Owed, OwedMessages, Receiver, Subscription

OWED_ROOM: Final = "owed"
# So many wait in the queue at once; the next come when those are sent. One turn of a session is a
# slice, or so many filters that have none: others are served in between.
SLICE: Final = 200
LOOKUPS: Final = 50


def owe(core: Core, session: Session, filters: list[str], now: float) -> None:
    """The retained messages of these subscriptions are to be sent, now if the client takes them."""
    owed = session.owed
    if owed is None:
        owed = session.owed = Owed()
    since = core.retained.puts
    for filter in filters:
        owed.add(filter, since)
    serve(core, session, now)
    if session.persistent and session.owed is owed:
        for filter in filters:
            if filter in owed.filters:
                core.journal.keep(OWED_ROOM, _key(session, filter), b"")


def serve(core: Core, session: Session, now: float) -> None:
    """Queues the next slice of what is owed, if the session can take it."""
    owed = session.owed
    if owed is None or core.journal.unread.has_retained:
        return  # what the store has not told yet is waited for: `serve_waiting`
    if session.is_peer:
        core.neighbours.serve_owed(session, now)
        return
    for _ in range(LOOKUPS):
        if not owed.filters or not takes_more(session):
            break
        if _serve_slice(core, session, owed, now):
            break
    if not owed.filters:
        session.owed = None
    elif takes_more(session):
        core.hub.owing[session] = None


def serve_waiting(core: Core) -> None:
    """All retained messages are known now: clients that waited for that take turns."""
    for connection in core.connections.values():
        session = connection.session
        if session is not None and session.owed is not None and takes_more(session):
            core.hub.owing[session] = None


def _serve_slice(core: Core, session: Session, owed: Owed, now: float) -> bool:
    """Queues some of what the first filter is owed; False if that was nothing, and is done."""
    filter = next(iter(owed.filters))
    subscription = session.subscriptions.get(filter)
    if subscription is None:
        _settle(core, session, filter)
        return False
    messages = _messages(core, owed, subscription, filter, now)
    slice = messages.next(now, SLICE, owed.since())
    if messages.is_done():
        _settle(core, session, filter)
    if slice:
        slice = _wanted(core, subscription, slice, now)
        session.enqueue_retained(slice, Receiver(subscription), now)
        return True
    return not messages.is_done()


def serve_all(core: Core, session: Session, now: float) -> None:
    """The session goes away: everything that it is owed is in its queue."""
    owed = session.owed
    if owed is None:
        return
    for filter in list(owed.filters):
        subscription = session.subscriptions.get(filter)
        if subscription is not None:
            messages = _messages(core, owed, subscription, filter, now)
            while not messages.is_done():
                slice = _wanted(core, subscription, messages.next(now, SLICE, owed.since()), now)
                session.enqueue_retained(slice, Receiver(subscription), now)
        _settle(core, session, filter)
    session.owed = None


def forgive(core: Core, session: Session, filter: str) -> None:
    """The subscription has ended."""
    if session.owed is not None and filter in session.owed.filters:
        _settle(core, session, filter)


def forgive_all(core: Core, session: Session) -> None:
    """The session has ended."""
    owed = session.owed
    if owed is not None:
        for filter in list(owed.filters):
            _settle(core, session, filter)
        session.owed = None


def restore(core: Core, kept: dict[str, bytes]) -> None:
    """What an earlier process owed; it is sent when the clients come back."""
    for key in kept:
        client_id, _, filter = key.partition("\0")
        session = core.sessions.get(client_id)
        if session is None or filter not in session.subscriptions:
            core.journal.drop(OWED_ROOM, key)
            continue
        if session.owed is None:
            session.owed = Owed()
        session.owed.add(filter)


def takes_more(session: Session) -> bool:
    """Whether nothing waits for its client, and the client takes what is sent."""
    outbox = session.outbox
    is_idle = not session.queued() and not session.lane.messages
    return outbox is not None and not outbox.blocked and is_idle


def _messages(
    core: Core, owed: Owed, subscription: Subscription, filter: str, now: float
) -> OwedMessages:
    """What the filter is still owed; its search begins if it is not the one under way."""
    messages = owed.messages
    if messages is None or owed.under_way != filter:
        if isinstance(subscription, OperatorSubscription):
            messages = _ListedMessages(core.operators.last_messages(subscription, now))
        else:
            messages = core.retained.begin_search(subscription.filter)
        owed.begin(filter, messages)
    return messages


class _ListedMessages(OwedMessages):
    """What an operator has for a new subscriber."""

    __slots__ = ("_at", "_messages")

    def __init__(self, messages: list[Message]) -> None:
        self._messages = messages
        self._at = 0

    def is_done(self) -> bool:
        return self._at >= len(self._messages)

    def next(self, now: float, most: int, since: int = ANY) -> list[Message]:
        first = self._at
        self._at = first + most
        return self._messages[first : self._at]


def _settle(core: Core, session: Session, filter: str) -> None:
    if session.owed is not None:
        session.owed.remove(filter)
    if session.persistent:
        core.journal.drop(OWED_ROOM, _key(session, filter))


def _wanted(
    core: Core, subscription: Subscription, messages: list[Message], now: float
) -> list[Message]:
    """Of retained messages, those that the subscription gets, as its session may see them."""
    if isinstance(subscription, OperatorSubscription):
        return messages
    if core.permissions.restricts:
        messages = _readable(core, subscription.session, messages)
    if isinstance(subscription, LocatedSubscription) or core.permissions.guards_positions:
        messages = _fitting(core, subscription, messages, now)
    if subscription.record.no_local:
        own = subscription.session.client_id
        messages = [message for message in messages if message.publisher != own]  # [MQTT-3.8.3-3]
    return messages


def _fitting(
    core: Core, subscription: Subscription, messages: list[Message], now: float
) -> list[Message]:
    """One SUBSCRIBE is one effort, however many messages it is held against."""
    locations = core.locations
    locations.effort = Effort()
    locations.is_one_effort = True
    try:
        return fitting(core, subscription, messages, now)
    finally:
        locations.is_one_effort = False


def _readable(core: Core, session: Session, messages: list[Message]) -> list[Message]:
    """The retained messages that the session may see and that their publishers may still show."""
    permissions = core.permissions
    return [
        message
        for message in messages
        if permissions.may_receive(session.identity, message.topic)
        and is_shown(permissions, message)
    ]


def _key(session: Session, filter: str) -> str:
    return f"{session.client_id}\0{filter}"
