"""Subscriptions of every kind, plain, operator and located: where each is entered and found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.charges import charge_of
from gossamer.broker.chores import Chore
from gossamer.broker.conditions import ConditionalSubscription, attach, detach
from gossamer.broker.geofences import LocatedSubscription
from gossamer.broker.located_operators import area_for
from gossamer.broker.operator_subscriptions import OperatorSubscription
from gossamer.broker.retained_delivery import forgive
from gossamer.broker.sharing import Group
from gossamer.geo.geolocation import Located
from gossamer.plus.engine import AskedOperator
from gossamer.plus.grammar import is_operator_filter
from gossamer.plus.plan import PlusError
from gossamer.session.records import SubscriptionRecord
from gossamer.session.session import Session
from gossamer.session.subscription import Subscription
from gossamer.topics.names import split_share

if TYPE_CHECKING:
    from gossamer.broker.core import Core


# Subscriptions of a session that ends which are left in one turn: less than a millisecond.
LEFT_AT_ONCE: Final = 200


def asked_of(core: Core, filter: str, user: list[tuple[str, str]]) -> AskedOperator | None:
    """What an operator filter asks for, None for a plain one. Raises PlusError."""
    return core.operators.engine.ask(filter, user) if is_operator_filter(filter) else None


def limit(
    core: Core,
    session: Session,
    filter: str,
    asked: AskedOperator | None,
    located: Located | None,
) -> None:
    """What was asked for to the areas that came with it, if it is an operator. Raises PlusError."""
    if asked is None or located is None:
        return
    if located.events:
        raise PlusError("an operator subscription has results, no events of areas (gpl_events)")
    if located.areas.follows and split_share(filter)[0]:
        raise PlusError(
            "the members of a shared group are at different places: an operator for all of them "
            "takes static areas only"
        )
    core.operators.engine.limit(asked, area_for(core.locations, session, located))


def make(
    core: Core,
    session: Session,
    record: SubscriptionRecord,
    asked: AskedOperator | None,
    located: Located | None,
    now: float,
) -> Subscription:
    share, filter = split_share(record.filter)
    if asked is not None:
        operation = core.operators.open(asked, session, now)
        return OperatorSubscription(session, record, share, filter, operation, located)
    if located is not None:
        return core.locations.subscription(session, record, located)
    return Subscription(session, record, share, filter)


def located_in(subscription: Subscription) -> Located | None:
    """What the subscription said about places."""
    if isinstance(subscription, LocatedSubscription | OperatorSubscription):
        return subscription.located
    return None


def enter(core: Core, subscription: Subscription) -> None:
    """Makes it part of its session, and of what it reads; replaces one with the same filter."""
    known = subscription.session.subscriptions.get(subscription.record.filter)
    if known is not None and known.charge is not None:
        known.charge.lift()
    if isinstance(subscription, ConditionalSubscription):
        subscription.charge = subscription.charge_for()
    else:
        subscription.charge = charge_of(
            core,
            subscription.session,
            subscription.record,
            located_in(subscription) is not None,
            isinstance(subscription, OperatorSubscription),
        )
    if known is not None and known.charge is not None:
        subscription.charge.inherit(known.charge)
    subscription.charge.lay()
    if isinstance(subscription, LocatedSubscription):
        if known is not None and not isinstance(known, LocatedSubscription):
            core.routes.remove(known)
            core.locations.attach(subscription, None)
        else:
            core.locations.attach(subscription, known)
    elif isinstance(known, LocatedSubscription):
        core.locations.detach(known)
        core.routes.add(subscription)
    elif isinstance(subscription, OperatorSubscription):
        core.operators.attach(subscription)
        if (
            isinstance(known, OperatorSubscription)
            and known.operation is not subscription.operation
        ):
            core.operators.detach(known, True)
    elif isinstance(subscription, ConditionalSubscription):
        if isinstance(known, ConditionalSubscription):
            detach(core, known)
        attach(core, subscription)
    else:
        core.routes.add(subscription)
    subscription.session.subscriptions[subscription.record.filter] = subscription
    if known is None:
        core.counters.subscriptions += 1
        for read in core.neighbours.needs(subscription):
            core.neighbours.wanted(read, subscription.session)
    elif core.is_meshed and (
        isinstance(known, LocatedSubscription) or isinstance(subscription, LocatedSubscription)
    ):
        # Other areas: what is new comes before what is gone.
        for read in core.neighbours.needs(subscription):
            core.neighbours.wanted(read, subscription.session)
        for read in core.neighbours.needs(known):
            core.neighbours.unwanted(read, subscription.session)
    if subscription.share:
        core.neighbours.group_changed(subscription.record.filter)


def leave(core: Core, subscription: Subscription) -> None:
    """Takes it out of what it reads; its session ends, or lets go of it."""
    core.counters.subscriptions -= 1
    if subscription.charge is not None:
        subscription.charge.lift()
        subscription.charge = None
    if isinstance(subscription, LocatedSubscription):
        core.locations.detach(subscription)
    elif isinstance(subscription, OperatorSubscription):
        core.operators.detach(subscription)
    elif isinstance(subscription, ConditionalSubscription):
        detach(core, subscription)
    else:
        core.routes.remove(subscription)
    for read in core.neighbours.needs(subscription):
        core.neighbours.unwanted(read, subscription.session)
    if subscription.share:
        core.neighbours.group_changed(subscription.record.filter)


def leave_all(core: Core, session: Session) -> None:
    """The session ends. Those that are many and plain are taken out of the tree in turns: nobody is
    behind them any more, so what is sent there meanwhile goes nowhere."""
    plain: list[Subscription] = []
    may_wait = len(session.subscriptions) > LEFT_AT_ONCE and not session.is_peer
    for subscription in session.subscriptions.values():
        if may_wait and not subscription.share and type(subscription) is Subscription:
            plain.append(subscription)
        else:
            leave(core, subscription)
    session.subscriptions.clear()
    if not plain:
        return
    if core.is_meshed:
        for subscription in plain:
            for read in core.neighbours.needs(subscription):
                core.neighbours.unwanted(read, session)
    core.chores.add(_Leaving(plain))


class _Leaving(Chore):
    """Subscriptions that nobody knows of any more but the tree and the ledger."""

    def __init__(self, subscriptions: list[Subscription]) -> None:
        self._left = subscriptions

    def frees(self) -> bool:
        return True

    def step(self, core: Core, now: float) -> bool:
        left = self._left
        for _ in range(min(LEFT_AT_ONCE, len(left))):
            subscription = left.pop()
            core.counters.subscriptions -= 1
            if subscription.charge is not None:
                subscription.charge.lift()
                subscription.charge = None
            core.routes.remove(subscription)
        return not left


def remove_subscription(core: Core, session: Session, filter: str) -> bool:
    """Nothing new comes by it [MQTT-3.10.4-2]; what is on its way is delivered [MQTT-3.10.4-3]."""
    subscription = session.subscriptions.pop(filter, None)  # [MQTT-3.10.4-1]
    if subscription is None:
        return False
    leave(core, subscription)
    forgive(core, session, filter)
    core.neighbours.unsubscribed(session, filter)
    if session.persistent:
        core.journal.subscription_removed(session.client_id, filter)
    return True


def find_group(core: Core, name: str) -> Group | None:
    """A shared group by its whole `$share/group/filter`."""
    share, filter = split_share(name)
    if is_operator_filter(filter):
        return core.operators.group(name)
    return core.routes.tree.group(share, filter)
