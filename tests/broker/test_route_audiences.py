"""Routes against a referee that looks at every subscription for every topic.

Whoever comes, goes, changes what it asked for or may no longer receive something: each route, kept,
cached or only passing, names exactly those whom the referee names, in a table that is far too small
as in one that holds everything.
"""

from collections.abc import Callable
from random import Random

import pytest

from gossamer.broker.audience import Audience
from gossamer.broker.geofences import LocatedFilter
from gossamer.broker.policy import Permissions
from gossamer.broker.routes import Route, RouteTable
from gossamer.broker.subscription_tree import Tap
from gossamer.budget.ledger import Account
from gossamer.mesh.link import AdvertisedInterest
from gossamer.session.identity import Identity
from gossamer.session.records import SubscriptionRecord
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver, Subscription
from gossamer.topics.names import matches
from tests.support.attacks import KIB, MIB
from tests.support.memory import World

LEVELS = ("a", "b", "long level", "é", "")
FILTERS = [
    "#",
    "+/#",
    "a/#",
    "a/+",
    "+/b",
    "a/+/é",
    "+/long level/#",
    "a/b",
    "a/b/é",
    "long level/a",
    "/#",
]
TOPICS = [
    *(f"{first}/{second}" for first in LEVELS for second in LEVELS),
    *(f"{first}/{second}/é" for first in LEVELS for second in LEVELS),
    *("a", "b", "$SYS/a", "$gossamer/b"),
]
NAMES = [f"c{number}" for number in range(6)]
STEPS = 300


class Rules(Permissions):
    """Who may receive what, by a table."""

    def __init__(self) -> None:
        super().__init__()
        self.restricts = True
        self.denied: set[tuple[str, str]] = set()

    def may_receive(self, client: Identity, topic: str) -> bool:
        return (client.client_id, topic) not in self.denied


class Churn:
    """A table of routes, and what was done to it."""

    def __init__(self, seed: int, budget: int) -> None:
        self.random = Random(seed)
        self.world = World()
        self.account = Account("routes", budget)
        self.table = RouteTable(self.account)
        self.sessions: dict[str, Session] = {}
        for name in NAMES:
            self.world.client(name)
            self.sessions[name] = self.world.broker.core.sessions[name]
        # By session, group and filter.
        self.subscriptions: dict[tuple[str, str, str], Subscription] = {}
        self.taps: list[tuple[str, Tap]] = []
        self.interests: dict[str, AdvertisedInterest] = {}
        self.kept: dict[str, Route] = {}
        self.rules: Rules | None = None

    def step(self) -> None:
        actions: list[Callable[[], None]] = [
            *[self.subscribe] * 6,
            *[self.unsubscribe] * 4,
            *[self.tap, self.untap, self.interest, self.uninterest, self.permit, self.plain],
        ]
        self.random.choice(actions)()

    def subscribe(self) -> None:
        draw = self.random
        name, filter = draw.choice(NAMES), draw.choice(FILTERS)
        share = draw.choice(("", "", "", "g", "h"))
        whole = f"$share/{share}/{filter}" if share else filter
        record = SubscriptionRecord(
            whole,
            draw.randrange(3),
            not share and draw.random() < 0.3,
            draw.random() < 0.5,
            0,
            draw.choice((0, 0, draw.randrange(1, 9))),
        )
        made = Subscription(self.sessions[name], record, share, filter)
        self.subscriptions[name, share, filter] = made
        self.table.add(made)

    def unsubscribe(self) -> None:
        if self.subscriptions:
            key = self.random.choice(list(self.subscriptions))
            self.table.remove(self.subscriptions.pop(key))

    def tap(self) -> None:
        filter = self.random.choice(FILTERS)
        made = LocatedFilter(self.world.broker.core.locations)
        self.taps.append((filter, made))
        self.table.add_tap(filter, made)

    def untap(self) -> None:
        if self.taps:
            filter, tap = self.taps.pop(self.random.randrange(len(self.taps)))
            self.table.remove_tap(filter, tap)

    def interest(self) -> None:
        """A neighbour that names no filters wants everything, or nothing any more."""
        name = self.random.choice(NAMES[:3])
        made = self.interests.get(name)
        if made is None:
            record = SubscriptionRecord("#", 2, True, True, 2, 0)
            made = AdvertisedInterest(Subscription(self.sessions[name], record, "", "#"))
            self.interests[name] = made
        made.takes_all = self.random.random() < 0.7
        self.table.set_interest(made)

    def uninterest(self) -> None:
        if self.interests:
            name = self.random.choice(list(self.interests))
            self.table.drop_interest(self.interests.pop(name))

    def permit(self) -> None:
        draw = self.random
        if self.rules is None or draw.random() < 0.3:
            self.rules = None if self.rules is not None else Rules()
            self.table.permissions = Permissions() if self.rules is None else self.rules
        else:
            self.rules.denied = {
                (name, topic) for name in NAMES for topic in TOPICS if draw.random() < 0.3
            }
        self.table.changes += 1

    def plain(self) -> None:
        """A link is in the tree, or is not."""
        session = self.sessions[self.random.choice(NAMES)]
        session.takes_plain = not session.takes_plain
        self.table.all_changed()

    def check(self) -> None:
        draw = self.random
        for topic in draw.sample(TOPICS, 8):
            data = topic.encode()
            road = draw.randrange(3)
            if road == 0:
                route = self.table.passing(topic, data)
            elif road == 1 or topic not in self.kept:
                route = self.table.route(topic, data)
                if route.is_cached:
                    self.kept[topic] = route
            else:  # as a connection does that kept it
                route = self.kept[topic]
                changed = route.branch.changes
                if route.seen_branch != changed or route.seen_all != self.table.changes:
                    self.kept[topic] = route = self.table.renewed(route)
            assert route.topic == topic
            assert route.topic_bytes == data
            assert shown(route.audience) == self.expected(topic), topic
        assert self.account.held <= self.account.budget
        self.weigh()

    def weigh(self) -> None:
        table = self.table
        held = sum(route.size for route in table._routes.values())
        held += sum(branch.size for branch in table._branches.values())
        audiences = {
            id(route.audience): route.audience.size
            for route in table._routes.values()
            if hasattr(route.audience, "routes")
        }
        assert self.account.held == held + sum(audiences.values())

    def expected(self, topic: str) -> object:
        """Everybody is asked."""
        matching: dict[str, list[SubscriptionRecord]] = {}
        groups: dict[str, set[str]] = {}
        for (name, share, filter), subscription in self.subscriptions.items():
            if not matches(filter, topic):
                continue
            if share:
                groups.setdefault(subscription.record.filter, set()).add(name)
            elif self.rules is None or (name, topic) not in self.rules.denied:
                matching.setdefault(name, []).append(subscription.record)
        people = {name: joined(records) for name, records in matching.items()}
        neighbours = []
        if not topic.startswith(("$SYS/", "$gossamer/")):
            for name, made in self.interests.items():
                if made.takes_all and name not in people:
                    neighbours.append((name, joined([made.subscription.record])))
        sure = sorted([*people.items(), *neighbours], key=str)
        receivers = [each for each in sure if self.sessions[each[0]].takes_plain]
        taps = sorted(id(tap) for filter, tap in self.taps if matches(filter, topic))
        return receivers, sure, {name: sorted(each) for name, each in groups.items()}, taps


Joined = tuple[int, list[int], bool, bool, object]


def joined(records: list[SubscriptionRecord]) -> Joined:
    """What all of them make together, and what of it concerns the session's own messages."""
    own = [record for record in records if not record.no_local]
    return (
        max(record.qos for record in records),
        identifiers(records),
        all(record.no_local for record in records),
        any(record.retain_as_published for record in records),
        (max(record.qos for record in own), identifiers(own)) if own else None,
    )


def identifiers(records: list[SubscriptionRecord]) -> list[int]:
    return sorted(record.identifier for record in records if record.identifier)


def people(receivers: list[Receiver]) -> list[tuple[str, Joined]]:
    found: list[tuple[str, Joined]] = []
    for each in receivers:
        own = each.for_own_message()
        part = None if own is None else (own.qos, sorted(own.identifiers))
        whole = (each.qos, sorted(each.identifiers), each.no_local, each.retain_as_published, part)
        found.append((each.session.client_id, whole))
    return sorted(found, key=str)


def shown(audience: Audience) -> object:
    groups = {
        group.name: sorted(member.session.client_id for member in group.members)
        for group in audience.groups
    }
    taps = sorted(id(tap) for tap in audience.taps)
    return people(audience.receivers), people(audience.sure), groups, taps


@pytest.mark.parametrize("budget", [8 * KIB, 24 * KIB, 4 * MIB])
@pytest.mark.parametrize("seed", range(8))
def test_routes_name_whom_the_referee_names(seed: int, budget: int) -> None:
    churn = Churn(seed, budget)
    for _ in range(STEPS):
        churn.step()
        churn.check()
        if churn.random.random() < 0.1:
            churn.table.sweep(churn.random.randrange(1, 100))
            churn.weigh()


def test_who_left_is_let_go_by_the_sweep() -> None:
    churn = Churn(0, 4 * MIB)
    for _ in range(200):
        churn.step()
        churn.check()
    for subscription in churn.subscriptions.values():
        churn.table.remove(subscription)
    for filter, tap in churn.taps:
        churn.table.remove_tap(filter, tap)
    for made in churn.interests.values():
        churn.table.drop_interest(made)
    while not churn.table.sweep(10):
        pass
    assert len(churn.table.audiences) == 0
    for route in churn.table._routes.values():
        assert route.audience.count() == 0
    churn.weigh()
