"""Who gets what is published: one answer for all topics that the same filters match.

A million topics under `plant/#` have one audience, which is made once. It is never changed: when
somebody comes to one of its filters or leaves, a new one takes its place. What depends on the topic
and not on its filters alone is part of the question: who may not receive it, which neighbours want
it, which groups have members elsewhere.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64, mypyc_attr

from gossamer.broker.conditions import ConditionalReceiver, ConditionalSubscription, ConditionTap
from gossamer.broker.mesh_port import NeighbourInterest
from gossamer.broker.sharing import Group, Sharing
from gossamer.broker.subscription_tree import FilterEntry, Tap
from gossamer.budget.ledger import NUMBER_BYTES, Account, object_bytes
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver, Subscription
from gossamer.topics.filter_tree import TreeEntry

# A list, and a place in one, which may have just grown.
_LIST_BYTES: Final = 64
_PLACE_BYTES: Final = 16

_FACTOR: Final = 1_000_003
_MASK: Final = (1 << 40) - 1


@mypyc_attr(acyclic=True)
class Audience:
    """Those who get a message."""

    __slots__ = (
        "conditional",
        "distant",
        "groups",
        "receivers",
        "sharing",
        "size",
        "sure",
        "taps",
    )

    def __init__(self, receivers: list[Receiver], sharing: Sharing) -> None:
        self.receivers = receivers  # of QoS 0
        self.sure = receivers  # of QoS 1 and 2: some neighbours get no other
        self.groups: list[Group] = _NO_GROUPS
        self.distant: list[str] = _NO_NAMES  # shared groups with members on other brokers
        self.taps: list[Tap] = _NO_TAPS
        self.conditional: list[ConditionalReceiver] = NO_CONDITIONAL  # some neighbours
        self.sharing = sharing
        self.size = AUDIENCE_BYTES + _receivers_bytes(receivers)

    def deliver(self, message: Message, origin: Session | None, now: float) -> None:
        """To everybody; `origin` is the publishing session, if it has one."""
        for receiver in self.receivers if message.qos == 0 else self.sure:
            session = receiver.session
            if session is origin:
                own = receiver.for_own_message()
                if own is None:
                    continue  # [MQTT-3.8.3-3]
                session.deliver(message, own, now)
            else:
                session.deliver(message, receiver, now)
        self.share(message, origin, now)
        for tap in self.taps:
            tap.take(message, origin, now)
        for neighbour in self.conditional:
            neighbour.take(message, origin, now)

    def share(self, message: Message, origin: Session | None, now: float) -> None:
        """One member of each shared group gets the message."""
        if self.groups or self.distant:
            self.sharing.share(message, self.groups, self.distant, origin, now)

    def is_anybody(self) -> bool:
        return (
            bool(self.sure)
            or bool(self.groups)
            or bool(self.distant)
            or bool(self.taps)
            or bool(self.conditional)
        )

    def is_wanted(self, origin: Session) -> bool:
        """Whether anybody but the origin gets it, whatever it says."""
        for receiver in self.sure:
            if receiver.session is not origin:
                return True
        return bool(self.groups) or bool(self.distant)

    def count(self) -> int:
        """How many get what is published there, a group as one."""
        return len(self.sure) + len(self.groups) + len(self.taps) + len(self.conditional)


_NO_GROUPS: Final[list[Group]] = []
_NO_NAMES: Final[list[str]] = []
_NO_TAPS: Final[list[Tap]] = []
NO_CONDITIONAL: Final[list[ConditionalReceiver]] = []
NO_NUMBERS: Final[list[int]] = []


@mypyc_attr(acyclic=True)
class SharedAudience(Audience):
    """One that the table has found for a question, and routes hold together."""

    __slots__ = ("changes", "denied", "entries", "era", "key", "routes", "wanting")

    def __init__(
        self,
        receivers: list[Receiver],
        sharing: Sharing,
        entries: list[TreeEntry],
        denied: list[int],
        wanting: list[int],
    ) -> None:
        super().__init__(receivers, sharing)
        self.entries = entries
        self.denied = denied
        self.wanting = wanting
        self.era = 0
        self.changes = 0  # of all entries together, until it was made
        self.key = 0
        self.routes = 0  # of the cache, that hold it


# What an audience costs beside its receivers: one that belongs to a route, and one that the table
# has, with its lists and its place there. `tests/attacks/test_true_sizes.py`
# holds the figures.
AUDIENCE_BYTES: Final = object_bytes(Audience) + NUMBER_BYTES + _LIST_BYTES
SHARED_BYTES: Final = object_bytes(SharedAudience) + NUMBER_BYTES + 400
RECEIVER_BYTES: Final = object_bytes(Receiver) + _PLACE_BYTES
# A neighbour's with conditions has one of these too, and lists.
CONDITIONAL_BYTES: Final = (
    object_bytes(ConditionalReceiver) + object_bytes(Receiver) + 2 * _LIST_BYTES + _PLACE_BYTES
)


def _receivers_bytes(receivers: list[Receiver]) -> int:
    size = RECEIVER_BYTES * len(receivers)
    for receiver in receivers:
        if receiver.members is not None:
            size += _LIST_BYTES + _PLACE_BYTES * len(receiver.members)
        if receiver.identifiers:
            size += _LIST_BYTES + _PLACE_BYTES * len(receiver.identifiers)
    return size


class AudienceTable:
    """The audiences that routes of the cache hold, each once; their bytes are in its account."""

    __slots__ = ("_by_key", "account", "era", "interests", "nobody", "sharing")

    def __init__(self, account: Account) -> None:
        self.account = account
        self.sharing = Sharing()
        self.nobody = Audience([], self.sharing)
        self.interests: list[NeighbourInterest] = []  # of neighbours that name no filters
        self.era = 0  # grows with what every answer depends on
        self._by_key: dict[int, SharedAudience] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def find(
        self,
        entries: list[TreeEntry],
        denied: list[int],
        wanting: list[int],
        distant: list[str],
    ) -> Audience:
        """Those who subscribed to these filters, but for the `denied` ones, by their place among
        all of them; and the neighbours of these `wanting` interests, by their place."""
        if not denied and not wanting and not distant:
            if not entries:
                return self.nobody
            if len(entries) == 1:
                entry = entries[0]
                assert isinstance(entry, FilterEntry)
                sole = entry.sole()
                if sole is not None and sole.session.takes_plain:
                    return Audience([Receiver(sole)], self.sharing)  # quicker than to look it up
        key: i64 = 0
        changes = 0
        for entry in entries:
            assert isinstance(entry, FilterEntry)
            key = _mixed(key, hash(entry))
            changes += entry.changes
        for place in denied:
            key = _mixed(key, place)
        for place in wanting:
            key = _mixed(key, ~place)
        for name in distant:
            key = _mixed(key, hash(name))
        found = self._by_key.get(key)
        if (
            found is not None
            and found.changes == changes
            and found.era == self.era
            and _are_same(found.entries, entries)
            and found.denied == denied
            and found.wanting == wanting
            and found.distant == distant
        ):
            return found
        made = self._made(entries, denied, wanting)
        made.distant = distant
        made.changes = changes
        made.key = key
        return made

    def hold(self, audience: Audience) -> int:
        """A route of the cache holds it; answers how many bytes of it are the route's own."""
        if not isinstance(audience, SharedAudience):
            return 0 if audience is self.nobody else audience.size
        audience.routes += 1
        if audience.routes == 1:
            self._by_key[audience.key] = audience  # also in place of one that is true no more
            self.account.grow(audience.size)
        return 0

    def release(self, audience: Audience) -> None:
        """A route of the cache holds it no more."""
        if isinstance(audience, SharedAudience):
            audience.routes -= 1
            if not audience.routes:
                if self._by_key.get(audience.key) is audience:
                    del self._by_key[audience.key]
                self.account.grow(-audience.size)

    def _made(
        self, entries: list[TreeEntry], denied: list[int], wanting: list[int]
    ) -> SharedAudience:
        receivers: list[Receiver] = []
        made = SharedAudience(receivers, self.sharing, entries, denied, wanting)
        made.era = self.era
        groups: list[Group] = []
        taps: list[Tap] = []
        conditional: dict[Session, list[ConditionalSubscription]] = {}
        firsts: dict[Session, tuple[Receiver, Subscription]] = {}
        place = 0
        next_denied = 0
        for entry in entries:  # [MQTT-3.3.2-3]
            assert isinstance(entry, FilterEntry)
            for subscription in entry.subscriptions():
                place += 1
                if next_denied < len(denied) and denied[next_denied] == place - 1:
                    next_denied += 1
                    continue
                session = subscription.session
                known = firsts.get(session)
                if known is None:
                    receiver = Receiver(subscription)
                    firsts[session] = (receiver, subscription)
                    receivers.append(receiver)
                else:
                    known[0].join(known[1], subscription)
            if entry.groups is not None:
                groups.extend(entry.groups.values())
            if entry.taps is not None:
                for tap in entry.taps:
                    if isinstance(tap, ConditionTap):
                        under = tap.subscription
                        conditional.setdefault(under.session, []).append(under)
                    else:
                        taps.append(tap)
        for place in wanting:
            subscription = self.interests[place].subscription
            conditional.pop(subscription.session, None)
            if subscription.session not in firsts:
                receivers.append(Receiver(subscription))
        plain = [each for each in receivers if each.session.takes_plain]
        if len(plain) < len(receivers):
            made.receivers = plain
        made.groups = groups
        made.taps = taps
        parts = len(entries) + len(denied) + len(wanting) + len(groups) + len(taps)
        made.size = SHARED_BYTES + _receivers_bytes(receivers)
        if conditional:
            # Whoever wants all of it needs no condition judged.
            made.conditional = [
                ConditionalReceiver(under)
                for session, under in conditional.items()
                if session not in firsts
            ]
            made.size += CONDITIONAL_BYTES * len(made.conditional)
            parts += sum([len(under) for under in conditional.values()])
        made.size += _PLACE_BYTES * parts
        return made


def _mixed(key: i64, part: i64) -> i64:
    return (key * _FACTOR ^ part) & _MASK


def _are_same(some: list[TreeEntry], others: list[TreeEntry]) -> bool:
    if len(some) != len(others):
        return False
    return all(entry is others[number] for number, entry in enumerate(some))
