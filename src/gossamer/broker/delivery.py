"""From one message to its receivers: subscriptions, shared groups, the retained copy, neighbours.

Positions that not everybody may see are guarded here: who may not see one gets the message without
its GLP. Without GLP a message is about no place, so it reaches them wherever they are interested:
whether it comes tells them nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.broker.audience import Audience
from gossamer.broker.geofences import LocatedFilter, without_place
from gossamer.broker.mesh_port import LOCAL_TOPICS
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
        deliver_guarded(core, message, route.audience, origin, now)
    elif message.retain:  # [MQTT-3.3.1-8]
        deliver_retained(core, message, route.audience, origin, now)
    else:
        route.audience.deliver(message, origin, now)


def publish(core: Core, message: Message, origin: Session | None, now: float) -> None:
    """A message that needs no answer: a will, a report of the broker's own."""
    route = core.routes.passing(message.topic, message.topic_bytes)
    deliver(core, message, route, origin, now)


def deliver_retained(
    core: Core, message: Message, audience: Audience, origin: Session | None, now: float
) -> None:
    """Keeps the message and delivers it; every neighbour gets it, since somebody behind it may
    subscribe later."""
    if message.topic.startswith(LOCAL_TOPICS):
        core.retained.keep(message, message)
        audience.deliver(message, origin, now)
        return
    if origin is None or not origin.is_peer:
        message = unstamped(message)  # only a broker says when a message was published
    stamped = core.neighbours.stamped(message, now)
    plain = unstamped(stamped)
    owner = NOBODY if origin is None else origin.owner
    is_news = core.retained_for(plain.topic).keep(plain, stamped, owner)
    stamp = stamp_of(stamped)
    if stamp is not None and stamp.is_replay and not is_news:
        return
    deliver_here(plain, audience, origin, now)
    deliver_onwards(core, stamped, origin, now)


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
) -> None:
    """Delivers a located message, as it is or without its place."""
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
    # An operator has subscribers of its own, whom it does not tell apart.
    with_place.taps = [tap for tap in audience.taps if isinstance(tap, LocatedFilter)]
    without.taps = [tap for tap in audience.taps if not isinstance(tap, LocatedFilter)]
    if message.retain:
        deliver_retained(core, message, with_place, origin, now)
    else:
        with_place.deliver(message, origin, now)
    without.deliver(without_place(message), origin, now)


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
