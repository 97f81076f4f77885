"""SUBSCRIBE and UNSUBSCRIBE: validation, permission, the route table, retained messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.charges import charge_of
from gossamer.broker.core import Unfinished
from gossamer.broker.mesh_port import SHARED_TOPICS
from gossamer.broker.offload import may_use
from gossamer.broker.private_aggregates import least_participants, with_least
from gossamer.broker.replies import promise, refuse
from gossamer.broker.retained_delivery import owe
from gossamer.broker.subscriptions import asked_of, enter, limit, make, remove_subscription
from gossamer.geo.areas import GlpError
from gossamer.geo.geolocation import Located
from gossamer.geo.glp import Glp, misspelt, parse_sent
from gossamer.plus.engine import AskedOperator
from gossamer.plus.operators.kinds import OPTION_PREFIX
from gossamer.plus.plan import PlusError
from gossamer.session.records import SubscriptionRecord
from gossamer.session.session import Session
from gossamer.session.subscription import Subscription
from gossamer.topics.names import TopicError, check_filter, split_share
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import V5, Request, Suback, Unsuback
from gossamer.wire.properties import Properties
from gossamer.wire.subscribe_codec import FilterReader

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection
    from gossamer.broker.core import Core

# What brokers say to each other is not for clients.
RESERVED_FILTERS = ("$gossamer/", SHARED_TOPICS)

# Retain handling, as asked for in the subscription options; 0 is to send them always.
SEND_IF_NEW = 1
SEND_NEVER = 2

# Filters of one packet that are handled in one turn, and those that are only looked at: about a
# tenth of a millisecond.
PART = 8
CHECKED = 256


# A subscription ends as a whole.
AREAS_IGNORED: Final = (
    "areas in an UNSUBSCRIBE are ignored: the subscription has ended with all of its areas; to "
    "remove one area only, send it in a SUBSCRIBE with or=0"
)


class Refusal(Exception):
    """A filter that is not granted: the reason code for it, and a text."""

    def __init__(self, reason: int, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text


def handle_subscribe(connection: Connection, packet: FilterReader, now: float) -> None:
    """Each filter is answered for itself; the first refusal's text goes with the answer."""
    connection.begin(_SubscribeWork(packet), now)


def handle_unsubscribe(connection: Connection, packet: FilterReader, now: float) -> None:
    connection.begin(_UnsubscribeWork(packet), now)


class _FilterWork(Unfinished):
    """All filters are looked at before the first is handled: a packet with an error in its last
    one changes nothing. They are read again then, since a hundred thousand would be much to keep.
    Where the packet has wrong GLP none is handled."""

    def __init__(self, packet: FilterReader) -> None:
        super().__init__(packet.size())
        self._packet = packet
        self._answers = bytearray()
        self._glp: Glp | None = None
        self._refused = ""
        properties = packet.properties
        if properties is not None and properties.user:
            try:
                self._glp = parse_sent(properties.user)
            except GlpError as error:
                self._refused = error.text
        self._count = 0
        self._is_checked = False

    def go_on(self, connection: Connection, now: float) -> bool:
        if not self._is_checked:
            packet = self._packet
            left = CHECKED
            while packet.has_more():
                if left == 0:
                    return False
                left -= 1
                self.look()
                self._count += 1
            packet.rewind()
            self._is_checked = True
            if self._refused:
                # 0x99, which says more, is not among the codes of a SUBACK.
                answers = [reasons.IMPLEMENTATION_SPECIFIC_ERROR] * self._count
                text = _with_text(connection, self._refused)
                refuse(connection.outbox, self.answer(answers, text))
                return True
            self.begin(connection, now)
            if self._count > PART:
                return False
        return self.handle(connection, now)

    def look(self) -> None:
        """At the next one; ProtocolError if it is malformed."""

    def answer(self, codes: list[int], text: Properties | None) -> Suback | Unsuback:
        raise NotImplementedError

    def begin(self, connection: Connection, now: float) -> None:
        """The packet is as it should be."""

    def handle(self, connection: Connection, now: float) -> bool:
        """Some filters; True if they were the last, and the packet is answered."""
        return True


class _SubscribeWork(_FilterWork):
    """A SUBSCRIBE, some filters at a time; what is granted holds from then on."""

    def __init__(self, packet: FilterReader) -> None:
        super().__init__(packet)
        self._identifier = 0
        self._hint = ""  # where nothing is refused
        self._user: list[tuple[str, str]] = []  # the options of an operator
        properties = packet.properties
        if properties is not None:
            if properties.subscription_ids:
                self._identifier = properties.subscription_ids[0]
            self._user = [pair for pair in properties.user if pair[0].startswith(OPTION_PREFIX)]
            self._hint = misspelt(properties.user)
        self._last: Request | None = None
        self._wanted: list[str] = []  # those whose retained messages are to be sent
        self._grants = False
        self._promises = False  # something that is granted is not on disk yet
        self._text = ""  # of the first refusal

    def look(self) -> None:
        self._packet.request()

    def answer(self, codes: list[int], text: Properties | None) -> Suback | Unsuback:
        return Suback(self._packet.packet_id, codes, text)

    def handle(self, connection: Connection, now: float) -> bool:
        packet = self._packet
        answers = self._answers
        left = PART
        read = CHECKED
        while packet.has_more():
            if left == 0 or read == 0:
                return False
            read -= 1
            request = packet.request()
            last = self._last
            if last is not None and _is_same(request, last):
                answers.append(answers[-1])  # the same subscription in place of itself
                continue
            left -= 1
            self._last = request
            answers.append(self._answer(connection, request, now))
        self._finish(connection, now)
        return True

    def _answer(self, connection: Connection, request: Request, now: float) -> int:
        try:
            granted, is_new = _subscribe(
                connection, request, self._identifier, self._user, self._glp, self._grants, now
            )
        except Refusal as refusal:
            self._text = self._text or refusal.text
            # 3.1.1 knows one failure only [MQTT-3.9.3-2].
            return refusal.reason if connection.version == V5 else reasons.UNSPECIFIED_ERROR
        self._grants = True
        self._promises = self._promises or connection.core.journal.accepts
        if _wants_retained(granted, is_new):
            self._wanted.append(granted.record.filter)
        return request.qos  # [MQTT-3.8.4-7]

    def _finish(self, connection: Connection, now: float) -> None:
        core = connection.core
        session = connection.session
        assert session is not None
        # [MQTT-3.8.4-1], [MQTT-3.8.4-2], [MQTT-3.8.4-5], [MQTT-3.8.4-6], [MQTT-2.2.1-6]; the order
        # is that of the filters: [MQTT-3.9.3-1]
        text = _with_text(connection, self._text or self._hint)
        answer = self.answer(list(self._answers), text)
        if self._promises:
            promise(connection.outbox, answer)
        else:  # with a full store only that was granted which is on disk already, or never will be
            refuse(connection.outbox, answer)
        if self._wanted:
            owe(core, session, self._wanted, now)


class _UnsubscribeWork(_FilterWork):
    """An UNSUBSCRIBE, some filters at a time."""

    def look(self) -> None:
        self._packet.filter()

    def answer(self, codes: list[int], text: Properties | None) -> Suback | Unsuback:
        return Unsuback(self._packet.packet_id, codes, text)

    def begin(self, connection: Connection, now: float) -> None:
        session = connection.session
        assert session is not None
        if self._glp is not None:
            connection.core.locations.learn(session, self._glp, now)

    def handle(self, connection: Connection, now: float) -> bool:
        session = connection.session
        assert session is not None
        packet = self._packet
        answers = self._answers
        left = PART
        while packet.has_more():
            if left == 0:
                return False
            left -= 1
            # [MQTT-3.10.4-6], [MQTT-3.11.3-1]
            known = remove_subscription(connection.core, session, packet.filter())
            answers.append(reasons.SUCCESS if known else reasons.NO_SUBSCRIPTION_EXISTED)
        text = AREAS_IGNORED if self._glp is not None and self._glp.areas else ""
        # [MQTT-3.10.4-4], [MQTT-3.10.4-5]: answered even if nothing matched.
        promise(connection.outbox, self.answer(list(answers), _with_text(connection, text)))
        return True


def _subscribe(
    connection: Connection,
    request: Request,
    identifier: int,
    user: list[tuple[str, str]],
    glp: Glp | None,
    is_learned: bool,
    now: float,
) -> tuple[Subscription, bool]:
    """`is_learned` if the packet's position is known by now: it counts if anything is granted."""
    core = connection.core
    session = connection.session
    assert session is not None
    try:
        share, filter = split_share(request.filter)
        check_filter(filter, connection.settings.max_levels)
        asked = asked_of(core, filter, user)
        if asked is None:
            core.operators.engine.refuse_misspelt(filter)
    except (TopicError, PlusError) as error:
        raise Refusal(reasons.TOPIC_FILTER_INVALID, str(error)) from None
    if share and request.no_local:
        # [MQTT-3.8.3-4]
        raise ProtocolError(reasons.PROTOCOL_ERROR, "No Local on a shared subscription")
    # What an operator made of several messages cannot be checked message by message.
    is_joint = bool(share) or asked is not None
    if asked is not None and asked.plan.reads != (asked.plan.filter,):
        _check_listed(asked.plan.reads, connection.settings.max_levels)
    least = 0
    for read in (filter,) if asked is None else asked.plan.reads:
        is_allowed = core.permissions.may_subscribe(connection.identity, read, is_joint)
        if not is_allowed and asked is not None and glp is None:
            least = least_participants(
                core.permissions, connection.identity, asked.plan, asked.options
            )
            is_allowed = least > 0
        is_reserved = read.startswith(RESERVED_FILTERS) and (
            is_joint or not may_use(core, connection.identity, read)
        )
        if is_reserved or not is_allowed:
            raise Refusal(reasons.NOT_AUTHORIZED, f"you may not read {read!r}")
    if least:
        user = with_least(user, least)
        try:
            asked = asked_of(core, filter, user)
        except PlusError as unfit:
            raise Refusal(reasons.NOT_AUTHORIZED, str(unfit)) from None
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
    if user:
        record.user = user
    if located is not None and glp is not None:
        position = glp.position or core.locations.position(session.client_id, now)
        record.user = user + located.entries(position)
    charge = charge_of(core, session, record, located is not None, asked is not None)
    known = None if is_new else session.subscriptions[request.filter].charge
    refusal = charge.refusal(known)
    if refusal and core.chores.finish_freeing(core, now):  # what has ended counts no more
        refusal = charge.refusal(known)
    if refusal:
        raise Refusal(reasons.QUOTA_EXCEEDED, refusal)
    if session.persistent and not core.journal.accepts:
        if is_new or not _is_on_disk(core, session.subscriptions[request.filter].record, record):
            raise Refusal(reasons.QUOTA_EXCEEDED, "the store is full")
        record.saved_in = session.subscriptions[request.filter].record.saved_in
    if glp is not None and not is_learned:
        core.locations.learn(session, glp, now)
    subscription = make(core, session, record, asked, located, now)
    enter(core, subscription)
    if session.persistent and core.journal.accepts:
        record.saved_in = core.journal.batch
        core.journal.subscription_saved(session.client_id, record)
    return subscription, is_new


def _check_listed(reads: tuple[str, ...], max_levels: int) -> None:
    """What lists and escapes stand for are filters like any other."""
    try:
        for read in reads:
            check_filter(read, max_levels)
    except TopicError as error:
        raise Refusal(reasons.TOPIC_FILTER_INVALID, str(error)) from None


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


def _located(
    core: Core, session: Session, filter: str, asked: AskedOperator | None, glp: Glp
) -> Located:
    try:
        located = core.locations.asked(session, filter, glp)
        limit(core, session, filter, asked, located)
    except GlpError as error:
        raise Refusal(reasons.IMPLEMENTATION_SPECIFIC_ERROR, error.text) from None
    except PlusError as problem:  # another name: compiled, a variable has one type
        raise Refusal(reasons.IMPLEMENTATION_SPECIFIC_ERROR, str(problem)) from None
    return located


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
