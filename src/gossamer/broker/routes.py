"""Topic to receivers: the filter tree, and a cache of answers that changes keep true.

A route is the answer for one topic. It is refreshed in place, so that a connection may keep it;
whether it is still true is two comparisons. A change of filter `a/…` makes stale only the routes
under `a`, a change of `+/…` or `#` all of them. The cache has a budget in bytes: past it the routes
that came first are let go, and one that a connection still has comes back when it is next stale.
"""

from __future__ import annotations

from sys import getsizeof
from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.broker.mesh_port import LOCAL_TOPICS, NeighbourInterest
from gossamer.broker.policy import Permissions
from gossamer.broker.sharing import Group, Sharing
from gossamer.budget.division import MIB
from gossamer.budget.ledger import Account
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver, Subscription
from gossamer.topics.filter_tree import FilterTree, TreeEntry
from gossamer.topics.names import matches

# What a route costs beside its topic: the object, its lists and its place in the table.
ROUTE_BYTES: Final = 640
RECEIVER_BYTES: Final = 144
BRANCH_BYTES: Final = 224
# A node of the filter tree.
NODE_BYTES: Final = 288
# A full cache lets go of one part in so many at once: rarely, and never much.
_EVICTED_PART: Final = 32


class Tap:
    """Something in the broker itself that reads what is published."""

    def take(self, message: Message, origin: Session | None, now: float) -> None:
        """`origin` is the publishing session, if it has one."""


class FilterEntry(TreeEntry):
    """Who subscribed to one filter."""

    __slots__ = ("_only", "_several", "groups", "taps")

    def __init__(self, filter: str) -> None:
        super().__init__(filter)
        # Most filters have one subscriber, and a dictionary for it would cost more than all else.
        self._only: Subscription | None = None
        self._several: dict[Session, Subscription] | None = None
        self.groups: dict[str, Group] | None = None
        self.taps: list[Tap] | None = None

    def subscriptions(self) -> list[Subscription]:
        if self._several is not None:
            return list(self._several.values())
        return [] if self._only is None else [self._only]

    def put(self, subscription: Subscription) -> None:
        """Adds or replaces the subscription of that session."""
        only = self._only
        if self._several is not None:
            self._several[subscription.session] = subscription
        elif only is None or only.session is subscription.session:
            self._only = subscription
        else:
            self._several = {only.session: only, subscription.session: subscription}
            self._only = None

    def drop(self, session: Session) -> None:
        only = self._only
        if self._several is not None:
            self._several.pop(session, None)
        elif only is not None and only.session is session:
            self._only = None

    def is_empty(self) -> bool:
        return not self._several and self._only is None and not self.groups and not self.taps


@mypyc_attr(acyclic=True)
class Branch:
    """The topics that begin with one level; `changes` grows with each change of their filters."""

    __slots__ = ("changes", "published", "routes", "size")

    def __init__(self, size: int) -> None:
        self.size = size  # bytes
        self.changes = 0
        self.published = 0  # bytes, by this broker's own clients, since somebody last asked
        self.routes = 0  # in the table; without any, the branch is forgotten


@mypyc_attr(acyclic=True)
class Route:
    """Who gets what is published on one topic."""

    __slots__ = (
        "archived",
        "branch",
        "distant",
        "groups",
        "is_cached",
        "receivers",
        "seen_all",
        "seen_branch",
        "sharing",
        "size",
        "sure",
        "taps",
        "topic",
        "topic_bytes",
    )

    def __init__(self, topic: str, topic_bytes: bytes, branch: Branch, sharing: Sharing) -> None:
        self.topic = topic
        self.topic_bytes = topic_bytes
        self.branch = branch
        self.archived = False  # whether what this broker's clients publish here is archived
        self.is_cached = False  # whether the table has it
        self.size = 0  # bytes, while the table has it
        self.seen_branch = -1
        self.seen_all = -1
        self.receivers: list[Receiver] = []  # of QoS 0
        self.sure: list[Receiver] = self.receivers  # of QoS 1 and 2: some neighbours get no other
        self.groups: list[Group] = []
        self.distant: list[str] = []  # shared groups with members on other brokers
        self.taps: list[Tap] = []
        self.sharing = sharing

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

    def share(self, message: Message, origin: Session | None, now: float) -> None:
        """One member of each shared group gets the message."""
        if self.groups or self.distant:
            self.sharing.share(message, self.groups, self.distant, origin, now)

    def let_go(self) -> None:
        """It is stale, and names nobody until it is refreshed."""
        self.seen_branch = -1
        self.receivers = []
        self.sure = self.receivers
        self.groups = []
        self.distant = []
        self.taps = []

    def count(self) -> int:
        """How many get what is published there, a group as one."""
        return len(self.sure) + len(self.groups) + len(self.taps)


class RouteTable:
    """All subscriptions of this broker's clients and neighbours, by filter."""

    __slots__ = (
        "_archived",
        "_branches",
        "_routes",
        "_unswept",
        "account",
        "changes",
        "filters",
        "neighbour_interests",
        "permissions",
        "sharing",
        "tree",
    )

    def __init__(self, account: Account | None = None, filters: Account | None = None) -> None:
        self.account = account if account is not None else Account("routes", 64 * MIB)
        # Has the nodes of the tree; who subscribed is charged where it is refused.
        self.filters = filters if filters is not None else Account("subscriptions", 128 * MIB)
        self.tree = FilterTree()
        self.permissions = Permissions()
        self.sharing = Sharing()
        self.changes = 0  # of filters that begin with a wildcard, and of neighbours' interests
        self.neighbour_interests: list[NeighbourInterest] = []  # of those that name no filters
        self._archived: list[str] = []
        self._branches: dict[str, Branch] = {}
        self._routes: dict[str, Route] = {}
        self._unswept: list[Route] = []

    def route(self, topic: str, topic_bytes: bytes) -> Route:
        """The route of a valid topic name, up to date."""
        found = self._routes.get(topic)
        if found is None:
            found = Route(topic, topic_bytes, self._branch(topic), self.sharing)
            self._enter(found)
        if found.seen_branch != found.branch.changes or found.seen_all != self.changes:
            self.refresh(found)
        return found

    def passing(self, topic: str, topic_bytes: bytes) -> Route:
        """As `route`, for a topic that is hardly used again: nothing is kept of it."""
        if topic in self._routes:
            return self.route(topic, topic_bytes)
        branch = self._branches.get(topic.split("/", 1)[0])
        route = Route(topic, topic_bytes, branch or Branch(0), self.sharing)
        route.archived = self._is_archived(topic)
        self.refresh(route)
        return route

    def renewed(self, route: Route) -> Route:
        """A route that somebody kept and found stale, up to date; another one, if the table has
        let go of it and made another since."""
        if not route.is_cached:
            known = self._routes.get(route.topic)
            if known is None:
                route.branch = self._branch(route.topic)
                self._enter(route)
            else:
                route = known
        self.refresh(route)
        return route

    def sweep(self, most: int) -> bool:
        """Looks at so many routes, and tells whether that were the last: what is stale lets go of
        those whom it named, who may be gone for good with all that they held."""
        if not self._unswept:
            self._unswept = list(self._routes.values())
        rest = len(self._unswept) - most
        for route in self._unswept[max(0, rest) :]:
            if route.seen_branch != route.branch.changes or route.seen_all != self.changes:
                route.let_go()
                self._weigh(route)
        del self._unswept[max(0, rest) :]
        return not self._unswept

    def __len__(self) -> int:
        return len(self._routes)

    def _enter(self, route: Route) -> None:
        route.archived = self._is_archived(route.topic)
        route.is_cached = True
        route.branch.routes += 1
        route.size = ROUTE_BYTES + getsizeof(route.topic) + len(route.topic_bytes)
        self._routes[route.topic] = route
        self.account.grow(route.size)
        if self.account.is_full():
            self._evict(route)

    def _evict(self, spared: Route) -> None:
        """Lets go of the routes that came first, a few more than needed."""
        account = self.account
        goal = account.budget - account.budget // _EVICTED_PART
        excess = account.held - goal
        oldest: list[Route] = []
        for route in self._routes.values():
            if excess <= 0:
                break
            if route is not spared:
                excess -= route.size
                oldest.append(route)
        for route in oldest:
            self._drop(route)

    def _drop(self, route: Route) -> None:
        account = self.account
        account.evicted += 1
        account.grow(-route.size)
        del self._routes[route.topic]
        route.is_cached = False
        branch = route.branch
        branch.routes -= 1
        if not branch.routes:
            # Whoever still has a route of it would not hear of changes: it asks again.
            branch.changes += 1
            del self._branches[route.topic.split("/", 1)[0]]
            account.grow(-branch.size)

    def archive_under(self, filters: list[str]) -> None:
        """What clients publish there is archived; never what the broker says of itself."""
        self._archived = filters
        self.changes += 1  # those that only a connection has hear of it when they come back
        for route in self._routes.values():
            route.archived = self._is_archived(route.topic)

    def _is_archived(self, topic: str) -> bool:
        if not self._archived or topic.startswith(LOCAL_TOPICS):
            return False
        return any(matches(filter, topic) for filter in self._archived)

    def take_published(self) -> dict[str, int]:
        """The bytes that clients have published since the last call, by first level."""
        found: dict[str, int] = {}
        for first, branch in self._branches.items():
            if branch.published:
                found[first] = branch.published
                branch.published = 0
        return found

    def refresh(self, route: Route) -> None:
        """Asks the tree again; if that fails the route stays stale, and does not lack receivers."""
        seen_branch = route.branch.changes
        seen_all = self.changes
        receivers: list[Receiver] = []
        only_sure = 0
        groups: list[Group] = []
        restricts = self.permissions.restricts
        taps: list[Tap] = []
        firsts: dict[Session, tuple[Receiver, Subscription]] = {}
        for entry in self.tree.match(route.topic):  # [MQTT-3.3.2-3]
            assert isinstance(entry, FilterEntry)
            for subscription in entry.subscriptions():
                session = subscription.session
                if restricts and not self._may_receive(session, route.topic):
                    continue
                known = firsts.get(session)
                if known is None:
                    receiver = Receiver(subscription)
                    firsts[session] = (receiver, subscription)
                    receivers.append(receiver)
                    if not session.takes_plain:
                        only_sure += 1
                else:
                    known[0].join(known[1], subscription)
            if entry.groups is not None:
                groups.extend(entry.groups.values())
            if entry.taps is not None:
                taps.extend(entry.taps)
        if self.neighbour_interests and not route.topic.startswith(LOCAL_TOPICS):
            for interest in self.neighbour_interests:
                session = interest.subscription.session
                if session not in firsts and interest.matches(route.topic):
                    receivers.append(Receiver(interest.subscription))
                    if not session.takes_plain:
                        only_sure += 1
        route.sure = receivers
        if only_sure:
            receivers = [each for each in receivers if each.session.takes_plain]
        route.receivers = receivers
        route.groups = groups
        route.sharing = self.sharing
        route.distant = self.sharing.distant(route.topic)
        route.taps = taps
        route.seen_branch = seen_branch
        route.seen_all = seen_all
        self._weigh(route)

    def _weigh(self, route: Route) -> None:
        """Charges what it has become: a route to many receivers is large."""
        if not route.is_cached:
            return
        size = ROUTE_BYTES + getsizeof(route.topic) + len(route.topic_bytes)
        size += RECEIVER_BYTES * len(route.sure)
        if size != route.size:
            self.account.grow(size - route.size)
            route.size = size
            if self.account.is_full():
                self._evict(route)

    def _may_receive(self, session: Session, topic: str) -> bool:
        return session.is_peer or self.permissions.may_receive(session.identity, topic)

    def add(self, subscription: Subscription) -> None:
        """Adds or replaces this session's subscription to the filter [MQTT-3.8.4-3]."""
        filter = subscription.filter
        entry = self._entry(filter)
        if not subscription.share:
            entry.put(subscription)
        else:
            if entry.groups is None:
                entry.groups = {}
            group = entry.groups.get(subscription.share)
            if group is None:
                group = Group(subscription.record.filter)
                entry.groups[subscription.share] = group
            group.put(subscription)
        self.changed(filter)

    def remove(self, subscription: Subscription) -> None:
        filter = subscription.filter
        entry = self.tree.get(filter)
        if entry is None:
            return
        assert isinstance(entry, FilterEntry)
        if not subscription.share:
            entry.drop(subscription.session)
        elif entry.groups is not None:
            group = entry.groups.get(subscription.share)
            if group is not None:
                group.drop(subscription.session)
                if not group.members:
                    del entry.groups[subscription.share]
        self._prune(entry)
        self.changed(filter)

    def add_tap(self, filter: str, tap: Tap) -> None:
        entry = self._entry(filter)
        if entry.taps is None:
            entry.taps = []
        entry.taps.append(tap)
        self.changed(filter)

    def remove_tap(self, filter: str, tap: Tap) -> None:
        entry = self.tree.get(filter)
        if entry is None:
            return
        assert isinstance(entry, FilterEntry)
        if entry.taps is not None:
            entry.taps = [one for one in entry.taps if one is not tap]
        self._prune(entry)
        self.changed(filter)

    def set_interest(self, interest: NeighbourInterest) -> None:
        """A neighbour's interest is new, or has become another."""
        if interest not in self.neighbour_interests:
            self.neighbour_interests.append(interest)
        self.changes += 1

    def drop_interest(self, interest: NeighbourInterest) -> None:
        """The neighbour wants nothing any more but what its filters name."""
        if interest in self.neighbour_interests:
            self.neighbour_interests.remove(interest)
            self.changes += 1

    def group(self, share: str, filter: str) -> Group | None:
        entry = self.tree.get(filter)
        if entry is None:
            return None
        assert isinstance(entry, FilterEntry)
        return None if entry.groups is None else entry.groups.get(share)

    def _entry(self, filter: str) -> FilterEntry:
        found = self.tree.get(filter)
        if found is None:
            entry = FilterEntry(filter)
            before = self.tree.nodes
            self.tree.put(entry)
            self.filters.grow(NODE_BYTES * (self.tree.nodes - before))
            return entry
        assert isinstance(found, FilterEntry)
        return found

    def _prune(self, entry: FilterEntry) -> None:
        if entry.is_empty():
            before = self.tree.nodes
            self.tree.remove(entry.filter)
            self.filters.grow(NODE_BYTES * (self.tree.nodes - before))

    def changed(self, filter: str) -> None:
        """Somebody came to this filter or left it: routes that it matches are stale."""
        first = filter.split("/", 1)[0]
        if first == "+" or first == "#":
            self.changes += 1
            return
        branch = self._branches.get(first)
        if branch is not None:
            branch.changes += 1

    def _branch(self, topic: str) -> Branch:
        first = topic.split("/", 1)[0]
        branch = self._branches.get(first)
        if branch is None:
            branch = Branch(BRANCH_BYTES + getsizeof(first))
            self._branches[first] = branch
            self.account.grow(branch.size)
        return branch
