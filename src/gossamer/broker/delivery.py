"""From one message to its receivers: subscriptions, shared groups, the retained copy, neighbours.

Two brokers may retain on one topic at the same time, and each delivers its own first. Stamps decide
on all of them which one is last. Where the other one comes later, those who got it are given the
last once more, as the retained message that it is: they too end with what everybody keeps.

Positions that not everybody may see are guarded here: who may not see one gets the message without
its GLP. Without GLP a message is about no place, so it reaches them wherever they are interested:
whether it comes tells them nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.broker.audience import Audience
from gossamer.broker.geofences import LocatedFilter, without_place
from gossamer.broker.mesh_port import LOCAL_TOPICS, PEER_PREFIX
from gossamer.broker.policy import Permissions
from gossamer.broker.retained_stamps import stamp_of, unstamped
from gossamer.broker.routes import Route
from gossamer.broker.sharing import Group
from gossamer.budget.ledger import NOBODY
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver, Subscription

if TYPE_CHECKING:
    from gossamer.broker.core import Core


def deliver(core: Core, message: Message, route: Route, origin: Session | None, now: float) -> None:
    """To everybody on the route, with all that the message asks for."""
    if is_guarded(core, message, now):
        last = deliver_guarded(core, message, route.audience, origin, now)
    elif message.retain:  # [MQTT-3.3.1-8]
        last = deliver_retained(core, message, route.audience, origin, now)
    else:
        route.audience.deliver(message, origin, now)
        return
    if last is not None:
        _deliver_last(core, last, route.audience, now)


def publish(core: Core, message: Message, origin: Session | None, now: float) -> None:
    """A message that needs no answer: a will, a report of the broker's own."""
    route = core.routes.passing(message.topic, message.topic_bytes)
    deliver(core, message, route, origin, now)


def deliver_retained(
    core: Core, message: Message, audience: Audience, origin: Session | None, now: float
) -> Message | None:
    """Keeps the message and delivers it; every neighbour gets it, since somebody behind it may
    subscribe later. The answer is what was retained later, if that came before it."""
    if message.topic.startswith(LOCAL_TOPICS):
        core.retained.keep(message, message)
        audience.deliver(message, origin, now)
        return None
    if origin is None or not origin.is_peer:
        message = unstamped(message)  # only a broker says when a message was published
    stamped = core.neighbours.stamped(message, now)
    plain = unstamped(stamped)
    owner = NOBODY if origin is None else origin.owner
    retained = core.retained_for(plain.topic)
    is_news = retained.keep(plain, stamped, owner)
    stamp = stamp_of(stamped)
    if stamp is not None and stamp.is_replay and not is_news:
        return None
    deliver_here(plain, audience, origin, now)
    deliver_onwards(core, stamped, origin, now)
    return None if is_news else retained.later_than(stamped)


def _deliver_last(core: Core, last: Message, audience: Audience, now: float) -> None:
    """What a topic retains, once more to this broker's clients: they just got an earlier one. It is
    marked as retained, as at a new subscription, so that nobody takes it for a second event.
    Operators and shared groups, which get no retained messages then, do not get this either."""
    permissions = core.permissions
    if last.is_expired(now) or (permissions.restricts and not is_shown(permissions, last)):
        return
    # Whoever has the record of what it got has this message in it; without a name it is another.
    last = last.changed(name=b"")
    hidden: Message | None = None
    for receiver in audience.sure:
        session = receiver.session
        if session.is_peer:
            continue
        own = receiver.for_own_message() if session.client_id == last.publisher else receiver
        if own is None:
            continue  # [MQTT-3.8.3-3]
        if core.locations.may_see(session, last):
            session.deliver_as_retained(last, own, now)
        else:
            hidden = hidden or without_place(last)
            session.deliver_as_retained(hidden, own, now)
    for tap in audience.taps:
        if isinstance(tap, LocatedFilter):
            for subscription in tap.subscriptions.values():
                is_own = subscription.session.client_id == last.publisher
                if subscription.share or (is_own and subscription.record.no_local):
                    continue
                for fit in fitting(core, subscription, [last], now):
                    subscription.session.deliver_as_retained(fit, subscription.receiver, now)


def deliver_here(message: Message, audience: Audience, origin: Session | None, now: float) -> None:
    """To this broker's own clients."""
    for receiver in audience.sure:
        session = receiver.session
        if session.is_peer:
            continue
        own = receiver.for_own_message() if session is origin else receiver
        if own is not None:
            session.deliver(message, own, now)
    audience.share(message, origin, now)
    for tap in audience.taps:
        tap.take(message, origin, now)


def deliver_onwards(core: Core, message: Message, origin: Session | None, now: float) -> None:
    """To every neighbour but the one that it came from, whatever they want."""
    for link in core.neighbours.links():
        if link.session is not origin:
            link.session.deliver(message, link, now)


def is_shown(permissions: Permissions, message: Message) -> bool:
    """Whether it may still be shown: its publisher's rights may have changed since."""
    return (
        message.topic.startswith(LOCAL_TOPICS)
        or message.publisher.startswith(PEER_PREFIX)  # judged where it was published
        or permissions.may_have_published(message.user, message.publisher, message.topic)
    )


# Positions --------------------------------------------------------------------------------------


def is_guarded(core: Core, message: Message, now: float) -> bool:
    """Whether it has a place that not everybody may see."""
    return core.permissions.guards_positions and core.locations.place(message, now) is not None


def deliver_guarded(
    core: Core,
    message: Message,
    audience: Audience,
    origin: Session | None,
    now: float,
    here_only: bool = False,
) -> Message | None:
    """Delivers a located message, as it is or without its place; answers as `deliver_retained`."""
    last: Message | None = None
    seeing: list[Receiver] = []
    unseeing: list[Receiver] = []
    for receiver in audience.receivers if message.qos == 0 else audience.sure:
        if here_only and receiver.session.is_peer:
            continue
        if core.locations.may_see(receiver.session, message):
            seeing.append(receiver)
        else:
            unseeing.append(receiver)
    with_place = Audience(seeing, audience.sharing)
    without = Audience(unseeing, audience.sharing)
    with_place.distant = audience.distant  # whoever serves them guards it there
    with_place.groups = [one for one in audience.groups if _all_see(core, one, message)]
    without.groups = [one for one in audience.groups if one not in with_place.groups]
    # An operator has subscribers of its own, whom it does not tell apart unless it has an area.
    with_place.taps = [tap for tap in audience.taps if tap.guards_places()]
    without.taps = [tap for tap in audience.taps if not tap.guards_places()]
    if not here_only:
        with_place.conditional = audience.conditional  # whoever is behind guards it there
    if message.retain:
        last = deliver_retained(core, message, with_place, origin, now)
    else:
        with_place.deliver(message, origin, now)
    without.deliver(without_place(message), origin, now)
    return last


def fitting(
    core: Core, subscription: Subscription, messages: list[Message], now: float
) -> list[Message]:
    """Of retained messages, those that the subscription wants, as its session may see them."""
    session = subscription.session
    found: list[Message] = []
    for message in messages:
        if not core.locations.may_see(session, message):
            found.append(without_place(message))
        elif subscription.takes(message, now):
            found.append(message)
    return found


def _all_see(core: Core, group: Group, message: Message) -> bool:
    return all(core.locations.may_see(member.session, message) for member in group.members)
