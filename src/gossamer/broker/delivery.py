"""From one message to its receivers: subscriptions, shared groups, and the retained copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.broker.mesh_port import LOCAL_TOPICS
from gossamer.broker.retained_stamps import stamp_of, unstamped
from gossamer.broker.routes import Route
from gossamer.budget.ledger import NOBODY
from gossamer.session.message import Message
from gossamer.session.session import Session

if TYPE_CHECKING:
    from gossamer.broker.core import Core


def distribute(message: Message, route: Route, origin: Session | None, now: float) -> None:
    """Delivers to everybody on the route; `origin` is the publishing session, if it has one."""
    for receiver in route.receivers if message.qos == 0 else route.sure:
        session = receiver.session
        if session is origin:
            own = receiver.for_own_message()
            if own is None:
                continue  # [MQTT-3.8.3-3]
            session.deliver(message, own, now)
        else:
            session.deliver(message, receiver, now)
    route.share(message, origin, now)
    for tap in route.taps:
        tap.take(message, origin, now)


def publish(core: Core, message: Message, origin: Session | None, now: float) -> None:
    """A message that needs no answer: a will, a report of the broker's own."""
    route = core.routes.passing(message.topic, message.topic_bytes)
    if message.retain:
        distribute_retained(core, message, route, origin, now)
    else:
        distribute(message, route, origin, now)


def distribute_retained(
    core: Core, message: Message, route: Route, origin: Session | None, now: float
) -> None:
    """Keeps the message and delivers it; every neighbour gets it, since somebody behind it may
    subscribe later."""
    if message.topic.startswith(LOCAL_TOPICS):
        core.retained.keep(message, message)
        distribute(message, route, origin, now)
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
    distribute_here(plain, route, origin, now)
    distribute_onwards(core, stamped, origin, now)


def distribute_here(message: Message, route: Route, origin: Session | None, now: float) -> None:
    """To this broker's own clients."""
    for receiver in route.sure:
        session = receiver.session
        if session.is_peer:
            continue
        own = receiver.for_own_message() if session is origin else receiver
        if own is not None:
            session.deliver(message, own, now)
    route.share(message, origin, now)
    for tap in route.taps:
        tap.take(message, origin, now)


def distribute_onwards(core: Core, message: Message, origin: Session | None, now: float) -> None:
    """To every neighbour but the one that it came from, whatever they want."""
    for link in core.neighbours.links():
        if link.session is not origin:
            link.session.deliver(message, link, now)
