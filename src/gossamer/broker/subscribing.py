"""SUBSCRIBE and UNSUBSCRIBE: validation, permission, the route table, retained messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.broker.neighbours import SHARED_TOPICS
from gossamer.broker.offloading import may_use
from gossamer.broker.owing import owe
from gossamer.broker.revoking import remove_subscription
from gossamer.broker.subscription_sizes import charge_of
from gossamer.broker.subscriptions import asked_of, enter, make
from gossamer.broker.telling import promise, refuse
from gossamer.geo.errors import GlpError
from gossamer.geo.glp import Glp, parse_sent
from gossamer.geo.located import Located
from gossamer.plus.engine import Asked
from gossamer.plus.errors import PlusError
from gossamer.plus.options import OPTION_PREFIX
from gossamer.session.records import SubscriptionRecord
from gossamer.session.session import Session
from gossamer.session.subscription import Subscription
from gossamer.topics.names import TopicError, check_filter
from gossamer.topics.shared import split_share
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import V5, Request, Suback, Subscribe, Unsuback, Unsubscribe
from gossamer.wire.properties import Properties

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection
    from gossamer.broker.core import Core

# What brokers say to each other is not for clients.
RESERVED_FILTERS = ("$gossamer/", SHARED_TOPICS)

# Retain handling, as asked for in the subscription options.
SEND_ALWAYS = 0
SEND_IF_NEW = 1
SEND_NEVER = 2


class Refusal(Exception):
    """A filter that is not granted: the reason code for it, and a text."""

    def __init__(self, reason: int, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text


def handle_subscribe(connection: Connection, packet: Subscribe, now: float) -> None:
    """Each filter is answered for itself; the first refusal's text goes with the answer."""
    core = connection.core
    session = connection.session
    assert session is not None
    identifier = 0
    user: list[tuple[str, str]] = []
    properties = packet.properties
    if properties is not None:
        if properties.subscription_ids:
            identifier = properties.subscription_ids[0]
        user = [pair for pair in properties.user if pair[0].startswith(OPTION_PREFIX)]
    answers: list[int] = []
    granted: list[tuple[Subscription, bool]] = []
    text = ""
    glp: Glp | None = None
    if properties is not None and properties.user:
        try:
            glp = parse_sent(properties.user)
        except GlpError as error:
            # 0x99, which says more, is not among the codes of a SUBACK.
            answers = [reasons.IMPLEMENTATION_SPECIFIC_ERROR] * len(packet.requests)
            answer = Suback(packet.packet_id, answers, _with_text(connection, error.text))
            refuse(connection.outlet, answer)
            return
    repeated: Request | None = None
    for request in packet.requests:
        if repeated is not None and _is_same(request, repeated):
            answers.append(answers[-1])  # the same subscription in place of itself
            continue
        repeated = request
        try:
            granted.append(_subscribe(connection, request, identifier, user, glp, now))
            answers.append(request.qos)  # [MQTT-3.8.4-7]
        except Refusal as refusal:
            text = text or refusal.text
            # 3.1.1 knows one failure only [MQTT-3.9.3-2].
            answers.append(
                refusal.reason if connection.version == V5 else reasons.UNSPECIFIED_ERROR
            )
    # [MQTT-3.8.4-1], [MQTT-3.8.4-2], [MQTT-3.8.4-5], [MQTT-3.8.4-6], [MQTT-2.2.1-6]; the order is
    # that of the filters: [MQTT-3.9.3-1]
    answer = Suback(packet.packet_id, answers, _with_text(connection, text))
    if granted and core.journal.accepts:
        promise(connection.outlet, answer)
    else:  # with a full store only that was granted which is on disk already, or never will be
        refuse(connection.outlet, answer)
    if glp is not None and granted:
        core.locations.learn(session, glp, now)
    wanted = [one.record.filter for one, is_new in granted if _wants_retained(one, is_new)]
    if wanted:
        owe(core, session, wanted, now)


def handle_unsubscribe(connection: Connection, packet: Unsubscribe, now: float) -> None:
    session = connection.session
    assert session is not None
    answers: list[int] = []
    properties = packet.properties
    if properties is not None and properties.user:
        try:
            glp = parse_sent(properties.user)
        except GlpError as error:
            answers = [reasons.IMPLEMENTATION_SPECIFIC_ERROR] * len(packet.filters)
            refusal = Unsuback(packet.packet_id, answers, _with_text(connection, error.text))
            refuse(connection.outlet, refusal)
            return
        if glp is not None:
            connection.core.locations.learn(session, glp, now)
    for filter in packet.filters:  # [MQTT-3.10.4-6], [MQTT-3.11.3-1]
        known = remove_subscription(connection.core, session, filter)
        answers.append(reasons.SUCCESS if known else reasons.NO_SUBSCRIPTION_EXISTED)
    # [MQTT-3.10.4-4], [MQTT-3.10.4-5]: answered even if nothing matched.
    answer = Unsuback(packet.packet_id, answers, None)
    promise(connection.outlet, answer)


def _subscribe(
    connection: Connection,
    request: Request,
    identifier: int,
    user: list[tuple[str, str]],
    glp: Glp | None,
    now: float,
) -> tuple[Subscription, bool]:
    core = connection.core
    session = connection.session
    assert session is not None
    try:
        share, filter = split_share(request.filter)
        check_filter(filter, connection.settings.max_levels)
        asked = asked_of(core, filter, user)
    except (TopicError, PlusError) as error:
        raise Refusal(reasons.TOPIC_FILTER_INVALID, str(error)) from None
    if share and request.no_local:
        # [MQTT-3.8.3-4]
        raise ProtocolError(reasons.PROTOCOL_ERROR, "No Local on a shared subscription")
    # What an operator made of several messages cannot be checked message by message.
    is_joint = bool(share) or asked is not None
    for read in (filter,) if asked is None else asked.plan.reads:
        is_allowed = core.permissions.may_subscribe(connection.identity, read, is_joint)
        is_reserved = read.startswith(RESERVED_FILTERS) and (
            is_joint or not may_use(core, connection.identity, read)
        )
        if is_reserved or not is_allowed:
            raise Refusal(reasons.NOT_AUTHORIZED, f"you may not read {read!r}")
    located: Located | None = None
    if glp is not None:
        located = _located(core, session, request.filter, asked, glp)
    if asked is not None:
        refusal = core.operators.refusal(asked, session)
        if refusal:
            raise Refusal(reasons.QUOTA_EXCEEDED, refusal)
    is_new = request.filter not in session.subscriptions
    if is_new and len(session.subscriptions) >= connection.settings.max_subscriptions:
        raise Refusal(
            reasons.QUOTA_EXCEEDED,
            f"no more than {connection.settings.max_subscriptions} subscriptions for one client",
        )
    record = SubscriptionRecord(
        request.filter,
        request.qos,
        request.no_local,
        request.retain_as_published,
        request.retain_handling,
        identifier,
    )
    record.user = user
    if located is not None and glp is not None:
        position = glp.position or core.locations.position(session.client_id, now)
        record.user = user + located.entries(position)
    charge = charge_of(core, session, record, located is not None, asked is not None)
    refusal = charge.refusal(None if is_new else session.subscriptions[request.filter].charge)
    if refusal:
        raise Refusal(reasons.QUOTA_EXCEEDED, refusal)
    if session.persistent and not core.journal.accepts:
        if is_new or not _is_on_disk(core, session.subscriptions[request.filter].record, record):
            raise Refusal(reasons.QUOTA_EXCEEDED, "the store is full")
        record.saved_in = session.subscriptions[request.filter].record.saved_in
    subscription = make(core, session, record, asked, located, now)
    enter(core, subscription)
    if session.persistent and core.journal.accepts:
        record.saved_in = core.journal.batch
        core.journal.subscription_saved(session.client_id, record)
    return subscription, is_new


def _is_same(one: Request, other: Request) -> bool:
    return (
        one.filter == other.filter
        and one.qos == other.qos
        and one.no_local == other.no_local
        and one.retain_as_published == other.retain_as_published
        and one.retain_handling == other.retain_handling
    )


def _is_on_disk(core: Core, known: SubscriptionRecord, asked: SubscriptionRecord) -> bool:
    return known.saved_in <= core.hub.last_committed and known.asks_the_same(asked)


def _located(core: Core, session: Session, filter: str, asked: Asked | None, glp: Glp) -> Located:
    if asked is not None:
        raise Refusal(
            reasons.IMPLEMENTATION_SPECIFIC_ERROR, "an operator subscription has no place (GLP)"
        )
    try:
        return core.locations.asked(session, filter, glp)
    except GlpError as error:
        raise Refusal(reasons.IMPLEMENTATION_SPECIFIC_ERROR, error.text) from None


def _wants_retained(subscription: Subscription, is_new: bool) -> bool:
    # [MQTT-3.3.1-9], [MQTT-3.3.1-10], [MQTT-3.3.1-11], [MQTT-3.8.4-4]; never for shared ones (4.8.2
    # of 5.0).
    handling = subscription.record.retain_handling
    if subscription.share or handling == SEND_NEVER:
        return False
    return is_new or handling != SEND_IF_NEW


def _with_text(connection: Connection, text: str) -> Properties | None:
    # [MQTT-3.1.2-29]
    if not text or connection.version != V5 or not connection.wants_problems:
        return None
    properties = Properties()
    properties.reason_string = text
    return properties
