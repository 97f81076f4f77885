"""A subscription of one session, the receiver that several matching ones make together, and the
retained messages that they are owed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

from gossamer.budget.ledger import Charge
from gossamer.session.records import SubscriptionRecord

if TYPE_CHECKING:
    from gossamer.session.message import Message
    from gossamer.session.session import Session

NO_IDENTIFIERS: Final[list[int]] = []
# Of retained messages: all, whenever they came.
ANY: Final = 1 << 62


@mypyc_attr(acyclic=True)
class Subscription:
    """What a session asked for; `share` is the group's name, "" for a subscription of its own.

    It and its session lead to each other until it is left, or the session ends: then the session
    lets go of it.
    """

    __slots__ = ("charge", "filter", "record", "session", "share")

    def __init__(
        self, session: Session, record: SubscriptionRecord, share: str, filter: str
    ) -> None:
        self.session = session
        self.record = record
        self.share = share
        self.filter = filter  # without `$share/…`
        self.charge: Charge | None = None  # while it is entered

    def takes(self, message: Message, now: float) -> bool:
        """Whether it wants a message that its filter matches."""
        return True

    def reads(self) -> tuple[str, ...]:
        """The plain filters whose publications it needs."""
        return (self.filter,)


@mypyc_attr(acyclic=True)
class Receiver:
    """How one session gets messages of one topic: its matching subscriptions, joined.

    A session that matches with several filters gets one copy at the highest QoS, with all their
    identifiers [MQTT-3.3.4-2], [MQTT-3.3.4-3], [MQTT-3.3.4-4].
    """

    __slots__ = (
        "identifiers",
        "is_plain",
        "members",
        "no_local",
        "qos",
        "retain_as_published",
        "session",
    )

    def __init__(self, first: Subscription) -> None:
        record = first.record
        self.session = first.session
        self.qos = record.qos
        self.identifiers = [record.identifier] if record.identifier else NO_IDENTIFIERS
        self.no_local = record.no_local
        self.retain_as_published = record.retain_as_published
        # Plain: what is not retained goes out in the encoding that all such receivers share.
        self.is_plain = not record.identifier
        self.members: list[Subscription] | None = None

    def join(self, first: Subscription, other: Subscription) -> None:
        """Adds another matching subscription of the same session."""
        if self.members is None:
            self.members = [first]
        self.members.append(other)
        record = other.record
        self.qos = max(self.qos, record.qos)
        if record.identifier:
            self.identifiers = [*self.identifiers, record.identifier]
        # No Local keeps a message back only if every matching subscription says so.
        self.no_local = self.no_local and record.no_local
        self.retain_as_published = self.retain_as_published or record.retain_as_published
        self.is_plain = not self.identifiers

    def for_own_message(self) -> Receiver | None:
        """The receiver for what the session itself published: without its No Local filters."""
        if self.no_local:
            return None
        members = self.members
        if members is None:
            return self
        rest = [member for member in members if not member.record.no_local]
        if len(rest) == len(members):
            return self
        receiver = Receiver(rest[0])
        for other in rest[1:]:
            receiver.join(rest[0], other)
        return receiver


class OwedMessages:
    """What one subscription is owed and is not looked up yet."""

    __slots__ = ()

    def is_done(self) -> bool:
        """Whether there is nothing more."""
        raise NotImplementedError

    def next(self, now: float, most: int, since: int = ANY) -> list[Message]:
        """The next of them, `most` at most, without those that came after this number; there may be
        more though it finds none now."""
        raise NotImplementedError


class Owed:
    """The retained messages that a client is owed, by subscription, before they enter its queue.

    `filters` wait in the order in which they were subscribed; the first one may be under way.

    A filter is owed once however often it is subscribed, so this is never larger than the session's
    table of subscriptions; `messages` are those of the one under way, and take next to no memory.

    What came after the subscription has been sent already, as any publication is, and does not come
    again as a retained message. Unless the client has missed some: then the last is sent again.
    """

    __slots__ = ("filters", "has_missed", "messages", "under_way")

    def __init__(self) -> None:
        self.filters: dict[str, int] = {}  # each with the number of the last that came before it
        self.has_missed = False  # whether publications did not reach the client since
        self.under_way = ""  # the filter whose messages these are
        self.messages: OwedMessages | None = None

    def add(self, filter: str, since: int = ANY) -> None:
        """Owed from the beginning, behind the others."""
        self.remove(filter)
        self.filters[filter] = since

    def remove(self, filter: str) -> None:
        self.filters.pop(filter, None)
        if self.under_way == filter:
            self.under_way = ""
            self.messages = None

    def since(self) -> int:
        """Of the one under way."""
        return ANY if self.has_missed else self.filters.get(self.under_way, ANY)

    def begin(self, filter: str, messages: OwedMessages) -> None:
        self.under_way = filter
        self.messages = messages
