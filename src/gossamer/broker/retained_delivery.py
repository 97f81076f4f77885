"""Retained messages for a subscription: sent at the client's own pace, owed by name until then.

A SUBSCRIBE may name a filter many times, and there may be a million retained messages; a client
that does not read must not make the broker remember each delivery. So a session only knows which
filters it is owed. When its queue is empty the next slice is looked up and queued. A filter that is
subscribed again before its messages were sent is owed once, from the beginning: the subscription
that it replaces is no more [MQTT-3.8.4-3], and for the one in its place all of them are sent
[MQTT-3.8.4-4].

What is owed to a session that outlives its connection outlives the broker too.
"""

from __future__ import annotations

from typing import Final

from gossamer.broker.core import Core
from gossamer.broker.delivery import fitting
from gossamer.broker.geofences import LocatedSubscription
from gossamer.broker.operator_subscriptions import OperatorSubscription
from gossamer.broker.retained import is_shown
from gossamer.geo.overlap import Effort
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.session.subscription import Owed, Receiver, Subscription

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
    for filter in filters:
        owed.add(filter)
    serve(core, session, now)
    if session.persistent and session.owed is owed:
        for filter in filters:
            if filter in owed.filters:
                core.journal.keep(OWED_ROOM, _key(session, filter), b"")


def serve(core: Core, session: Session, now: float) -> None:
    """Queues the next slice of what is owed, if the session can take it."""
    owed = session.owed
    if owed is None:
        return
    for _ in range(LOOKUPS):
        if not owed.filters or not _takes_more(session):
            break
        if owed.at < len(owed.messages) or _begin_next(core, session, owed, now):
            _serve_slice(core, session, owed, now)
            break
    if not owed.filters:
        session.owed = None
    elif _takes_more(session):
        core.hub.owing[session] = None


def _serve_slice(core: Core, session: Session, owed: Owed, now: float) -> None:
    slice = owed.messages[owed.at : owed.at + SLICE]
    owed.at += len(slice)
    subscription = session.subscriptions.get(owed.under_way)
    if subscription is not None:
        if owed.at > len(slice):  # those of the first slice were looked up just now
            slice = _current(core, subscription, slice, now)
        slice = _wanted(core, subscription, slice, now)
        session.enqueue_retained(slice, Receiver(subscription), now)
    if owed.at >= len(owed.messages):
        _settle(core, session, owed.under_way)


def serve_all(core: Core, session: Session, now: float) -> None:
    """The session goes away: everything that it is owed is in its queue."""
    owed = session.owed
    if owed is None:
        return
    for filter in list(owed.filters):
        subscription = session.subscriptions.get(filter)
        if filter == owed.under_way:
            messages = owed.messages[owed.at :]
        else:
            messages = [] if subscription is None else _found(core, subscription, now)
        if subscription is not None and messages:
            messages = _wanted(core, subscription, messages, now)
            session.enqueue_retained(messages, Receiver(subscription), now)
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


def _takes_more(session: Session) -> bool:
    outbox = session.outbox
    is_idle = not session.queued() and not session.lane.messages
    return outbox is not None and not outbox.blocked and is_idle


def _begin_next(core: Core, session: Session, owed: Owed, now: float) -> bool:
    """Looks up what the next filter is owed; False if that is nothing."""
    filter = next(iter(owed.filters))
    subscription = session.subscriptions.get(filter)
    messages = [] if subscription is None else _found(core, subscription, now)
    if not messages:
        _settle(core, session, filter)
        return False
    owed.begin(filter, messages)
    return True


def _settle(core: Core, session: Session, filter: str) -> None:
    if session.owed is not None:
        session.owed.remove(filter)
    if session.persistent:
        core.journal.drop(OWED_ROOM, _key(session, filter))


def _found(core: Core, subscription: Subscription, now: float) -> list[Message]:
    if isinstance(subscription, OperatorSubscription):
        return core.operators.last_messages(subscription, now)
    return core.retained.search(subscription.filter, now)


def _current(
    core: Core, subscription: Subscription, messages: list[Message], now: float
) -> list[Message]:
    """What is retained on their topics now: some have gone or been replaced since."""
    if isinstance(subscription, OperatorSubscription):
        return messages
    kept = [core.retained.get(message.topic) for message in messages]
    return [one for one in kept if one is not None and not one.is_expired(now)]


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
