"""Topic to receivers: the filter tree, and a cache of answers that changes keep true.

A route is the answer for one topic: an audience, which it shares with all topics that the same
filters match. It is refreshed in place, so that a connection may keep it; whether it is still true
is two comparisons. A change of filter `a/…` makes stale only the routes under `a`, a change of
`+/…` or `#` all of them; to refresh one is a walk through the tree, and makes nothing.

The cache has a budget in bytes. When it is full, few of the topics that come for the first time
enter it, each in place of one that was not used lately: what is published once does not displace
what is published again and again, and a topic that is not in the cache is matched every time.
"""

from __future__ import annotations

from sys import getsizeof
from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.broker.audience import NO_NUMBERS, Audience, AudienceTable
from gossamer.broker.mesh_port import LOCAL_TOPICS, NeighbourInterest
from gossamer.broker.policy import Permissions
from gossamer.broker.sharing import Sharing
from gossamer.broker.subscription_tree import FilterEntry, SubscriptionTree, Tap
from gossamer.budget.division import MIB
from gossamer.budget.ledger import NUMBER_BYTES, Account, object_bytes
from gossamer.session.subscription import Subscription
from gossamer.topics.filter_tree import TreeEntry
from gossamer.topics.names import matches

# So many are looked at for one that nobody used lately, before one that was used goes.
_LOOKED_AT: Final = 8
# Of the topics that a full cache does not have, one in so many enters it.
_ENTERING: Final = 8


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
        "audience",
        "branch",
        "is_cached",
        "is_used",
        "seen_all",
        "seen_branch",
        "size",
        "topic",
        "topic_bytes",
    )

    def __init__(self, topic: str, topic_bytes: bytes, branch: Branch, nobody: Audience) -> None:
        self.topic = topic
        self.topic_bytes = topic_bytes
        self.branch = branch
        self.archived = False  # whether what this broker's clients publish here is archived
        self.is_cached = False  # whether the table has it
        self.is_used = False  # since the table last looked
        self.size = 0  # bytes, while the table has it
        self.seen_branch = -1
        self.seen_all = -1
        self.audience = nobody  # until it is refreshed


# What a route costs beside its topic and an audience of its own, and a branch beside its name: the
# objects, and their places in the tables and in the ring. `tests/attacks/test_true_sizes.py` holds
# the figures.
ROUTE_BYTES: Final = object_bytes(Route) + NUMBER_BYTES + 96
BRANCH_BYTES: Final = object_bytes(Branch) + 64


class RouteTable:
    """All subscriptions of this broker's clients and neighbours, by filter."""

    __slots__ = (
        "_branches",
        "_hand",
        "_missed",
        "_ring",
        "_routes",
        "_sweep_at",
        "account",
        "archived",
        "audiences",
        "changes",
        "permissions",
        "tree",
    )

    def __init__(self, account: Account | None = None, filters: Account | None = None) -> None:
        self.account = account if account is not None else Account("routes", 64 * MIB)
        if filters is None:
            filters = Account("subscriptions", 128 * MIB)
        self.tree = SubscriptionTree(filters)
        self.permissions = Permissions()
        self.audiences = AudienceTable(self.account)
        self.changes = 0  # of filters that begin with a wildcard, and of what concerns all topics
        self.archived: list[str] = []  # filters
        self._branches: dict[str, Branch] = {}
        self._routes: dict[bytes, Route] = {}
        self._ring: list[Route] = []
        self._hand = 0
        self._sweep_at = 0
        self._missed = 0  # topics that a full cache did not have

    def __len__(self) -> int:
        return len(self._routes)

    # Routes -------------------------------------------------------------------------------------

    def find(self, topic_bytes: bytes) -> Route | None:
        """The route of a topic that is in the cache, up to date."""
        found = self._routes.get(topic_bytes)
        if found is not None:
            found.is_used = True
            if found.seen_branch != found.branch.changes or found.seen_all != self.changes:
                self.refresh(found)
        return found

    def route(self, topic: str, topic_bytes: bytes) -> Route:
        """The route of a valid topic name, up to date. Only one that is cached may be kept."""
        found = self.find(topic_bytes)
        if found is not None:
            return found
        if self.account.held + ROUTE_BYTES + 2 * len(topic_bytes) > self.account.budget:
            self._missed += 1
            if self._missed % _ENTERING:
                branch = self._branches.get(_first_level(topic))
                if branch is not None:
                    return self._fresh(topic, topic_bytes, branch)
        return self._entered(topic, topic_bytes)

    def passing(self, topic: str, topic_bytes: bytes) -> Route:
        """As `route`, for a topic that is hardly used again: nothing is kept of it."""
        found = self.find(topic_bytes)
        if found is not None:
            return found
        branch = self._branches.get(_first_level(topic))
        return self._fresh(topic, topic_bytes, Branch(0) if branch is None else branch)

    def renewed(self, route: Route) -> Route:
        """A route that somebody kept and found stale, up to date; another one, if the table has
        let go of it."""
        if not route.is_cached:
            found = self.find(route.topic_bytes)
            return self._entered(route.topic, route.topic_bytes) if found is None else found
        self.refresh(route)
        return route

    def refresh(self, route: Route) -> None:
        """Asks the tree again; if that fails the route stays stale, and does not lack receivers."""
        seen_branch = route.branch.changes
        seen_all = self.changes
        if route.seen_all != seen_all:
            route.archived = self._is_archived(route.topic)
        audience = self._audience(route.topic)
        if audience is not route.audience:
            self._give(route, audience)
        route.seen_branch = seen_branch
        route.seen_all = seen_all
        while route.is_cached and self.account.is_full() and self._evict(route):
            pass

    def sweep(self, most: int) -> bool:
        """Looks at so many routes, and tells whether that were the last: what is stale lets go of
        those whom it named, who may be gone for good with all that they held."""
        ring = self._ring
        for _ in range(most):
            if self._sweep_at >= len(ring):
                self._sweep_at = 0
                return True
            route = ring[self._sweep_at]
            self._sweep_at += 1
            if route.seen_branch != route.branch.changes or route.seen_all != self.changes:
                self._let_go(route)
        return False

    def _audience(self, topic: str) -> Audience:
        entries = self.tree.match(topic)
        audiences = self.audiences
        denied = NO_NUMBERS
        if self.permissions.restricts:
            denied = self._denied(entries, topic)
        wanting = NO_NUMBERS
        if audiences.interests and not topic.startswith(LOCAL_TOPICS):
            wanting = [
                place
                for place, interest in enumerate(audiences.interests)
                if interest.matches(topic)
            ]
        return audiences.find(entries, denied, wanting, audiences.sharing.distant(topic))

    def _denied(self, entries: list[TreeEntry], topic: str) -> list[int]:
        """Who of the subscribers may not receive it, by their place among all of them."""
        denied: list[int] = []
        place = 0
        for entry in entries:
            assert isinstance(entry, FilterEntry)
            for subscription in entry.subscriptions():
                session = subscription.session
                if not session.is_peer and not self.permissions.may_receive(
                    session.identity, topic
                ):
                    denied.append(place)
                place += 1
        return denied

    def _fresh(self, topic: str, topic_bytes: bytes, branch: Branch) -> Route:
        route = Route(topic, topic_bytes, branch, self.audiences.nobody)
        self.refresh(route)
        return route

    def _entered(self, topic: str, topic_bytes: bytes) -> Route:
        route = Route(topic, topic_bytes, self._branch(topic), self.audiences.nobody)
        route.is_cached = True
        route.is_used = True
        route.branch.routes += 1
        self._routes[topic_bytes] = route
        self._ring.append(route)
        self._weigh(route, 0)
        self.refresh(route)
        return route

    def _give(self, route: Route, audience: Audience) -> None:
        if route.is_cached:
            self._weigh(route, self.audiences.hold(audience))
            self.audiences.release(route.audience)
        route.audience = audience

    def _weigh(self, route: Route, own: int) -> None:
        """Charges what it is, with so many bytes of an audience of its own."""
        size = ROUTE_BYTES + getsizeof(route.topic) + len(route.topic_bytes) + own
        self.account.grow(size - route.size)
        route.size = size

    def _let_go(self, route: Route) -> None:
        """It is stale, and names nobody until it is refreshed."""
        route.seen_branch = -1
        if route.audience is not self.audiences.nobody:
            self._give(route, self.audiences.nobody)

    def _evict(self, spared: Route) -> bool:
        """Lets go of one route, rather of one that was not used lately."""
        ring = self._ring
        for look in range(_LOOKED_AT if ring else 0):
            if self._hand >= len(ring):
                self._hand = 0
            route = ring[self._hand]
            if route is not spared and (not route.is_used or look >= _LOOKED_AT - 2):
                last = ring.pop()
                if last is not route:
                    ring[self._hand] = last
                self._drop(route)
                return True
            route.is_used = False
            self._hand += 1
        return False  # there is none but this one

    def _drop(self, route: Route) -> None:
        account = self.account
        account.evicted += 1
        # Whoever still has it finds it stale, and asks again: what it named is paid for no more.
        self._let_go(route)
        account.grow(-route.size)
        del self._routes[route.topic_bytes]
        route.is_cached = False
        branch = route.branch
        branch.routes -= 1
        if not branch.routes:
            del self._branches[_first_level(route.topic)]
            account.grow(-branch.size)

    def _branch(self, topic: str) -> Branch:
        first = _first_level(topic)
        branch = self._branches.get(first)
        if branch is None:
            branch = Branch(BRANCH_BYTES + getsizeof(first))
            self._branches[first] = branch
            self.account.grow(branch.size)
        return branch

    def take_published(self) -> dict[str, int]:
        """The bytes that clients have published since the last call, by first level."""
        found: dict[str, int] = {}
        for first, branch in self._branches.items():
            if branch.published:
                found[first] = branch.published
                branch.published = 0
        return found

    def archive_under(self, filters: list[str]) -> None:
        """What clients publish there is archived; never what the broker says of itself."""
        self.archived = filters
        self.changes += 1

    def _is_archived(self, topic: str) -> bool:
        if not self.archived or topic.startswith(LOCAL_TOPICS):
            return False
        return any(matches(filter, topic) for filter in self.archived)

    # Subscriptions ------------------------------------------------------------------------------

    def add(self, subscription: Subscription) -> None:
        """Adds or replaces this session's subscription to the filter [MQTT-3.8.4-3]."""
        self.tree.add(subscription)
        self.changed(subscription.filter)

    def remove(self, subscription: Subscription) -> None:
        self.tree.drop(subscription)
        self.changed(subscription.filter)

    def add_tap(self, filter: str, tap: Tap) -> None:
        self.tree.add_tap(filter, tap)
        self.changed(filter)

    def remove_tap(self, filter: str, tap: Tap) -> None:
        self.tree.remove_tap(filter, tap)
        self.changed(filter)

    @property
    def neighbour_interests(self) -> list[NeighbourInterest]:
        """Of those that name no filters."""
        return self.audiences.interests

    def set_interest(self, interest: NeighbourInterest) -> None:
        """A neighbour's interest is new, or has become another."""
        if interest not in self.audiences.interests:
            self.audiences.interests.append(interest)
        self.changes += 1

    def drop_interest(self, interest: NeighbourInterest) -> None:
        """The neighbour wants nothing any more but what its filters name."""
        if interest in self.audiences.interests:
            self.audiences.interests.remove(interest)
            self.all_changed()

    @property
    def sharing(self) -> Sharing:
        return self.audiences.sharing

    def set_sharing(self, sharing: Sharing) -> None:
        self.audiences.sharing = sharing
        self.all_changed()

    def all_changed(self) -> None:
        """Something that every answer depends on is another than it was."""
        self.audiences.era += 1
        self.changes += 1

    def changed(self, filter: str) -> None:
        """Somebody came to this filter or left it: routes that it matches are stale."""
        first = _first_level(filter)
        if first == "+" or first == "#":
            self.changes += 1
            return
        branch = self._branches.get(first)
        if branch is not None:
            branch.changes += 1


def _first_level(topic: str) -> str:
    end = topic.find("/")
    return topic if end < 0 else topic[:end]
