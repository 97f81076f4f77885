"""Positions that not everybody may see: who may not gets the message without its GLP.

Without GLP a message is about no place, so it reaches them wherever they are interested: whether
it comes tells them nothing.
"""

from gossamer.broker.core import Core
from gossamer.broker.delivery import distribute, distribute_retained, publish
from gossamer.broker.geofences import LocatedFilter, without_place
from gossamer.broker.routes import Route
from gossamer.broker.sharing import Group
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.session.subscription import Subscription


def distribute_guarded(
    core: Core,
    message: Message,
    route: Route,
    origin: Session | None,
    now: float,
    here_only: bool = False,
) -> None:
    """Delivers a located message, as it is or without its place."""
    seeing = Route(route.topic, route.topic_bytes, route.branch, route.sharing)
    others = Route(route.topic, route.topic_bytes, route.branch, route.sharing)
    for receiver in route.receivers if message.qos == 0 else route.sure:
        if here_only and receiver.session.is_peer:
            continue
        side = seeing if core.locations.may_see(receiver.session, message) else others
        side.receivers.append(receiver)
    seeing.distant = route.distant  # whoever serves them guards it there
    for group in route.groups:
        (seeing if _all_see(core, group, message) else others).groups.append(group)
    for tap in route.taps:
        # An operator has subscribers of its own, whom it does not tell apart.
        (seeing if isinstance(tap, LocatedFilter) else others).taps.append(tap)
    if message.retain:
        distribute_retained(core, message, seeing, origin, now)
    else:
        distribute(message, seeing, origin, now)
    distribute(without_place(message), others, origin, now)


def publish_shown(core: Core, message: Message, origin: Session | None, now: float) -> None:
    """A message that needs no answer, its place only for those who may see it."""
    if core.permissions.guards_positions and core.locations.place(message, now) is not None:
        route = core.routes.passing(message.topic, message.topic_bytes)
        distribute_guarded(core, message, route, origin, now)
    else:
        publish(core, message, origin, now)


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
