"""Permission rules, compiled: who may publish and subscribe where. No rule that allows, no access.

A `RuleBook` is made of `Rule`s. `grant()` picks the rules that speak of one client, fills in their
templates, and gives a `Grant`, which answers quickly and remembers its answers. A denial wins over
any permission. A subscription is allowed if one permitted filter contains it whole.

Grants and what they remember are a cache, charged to an account: when that is full, the grants that
were made first are emptied, and made again if somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from sys import getsizeof
from typing import Final

from gossamer.budget.division import MIB
from gossamer.budget.ledger import Account
from gossamer.topics.containment import contains, meet
from gossamer.topics.filter_tree import FilterTree, TreeEntry
from gossamer.topics.names import TopicError, check_filter

ANY_NAMED_USER: Final = "*"
UNKNOWN_ADDRESS: Final = -1  # Of a message whose publisher's address was not kept.
NO_ADDRESS: Final = -2  # Of a client that has none: it is in no network.
DECISIONS_KEPT: Final = 4096
# Longer topics are judged each time: they are rare, and one of them costs as much as hundreds.
LONGEST_KEPT: Final = 1024
DECISION_BYTES: Final = 128  # beside its topic
GRANT_BYTES: Final = 3072  # its trees and tables
FILTER_BYTES: Final = 256  # a filter in them, beside its text
# A full account lets go of one part in so many at once.
_EVICTED_PART: Final = 16

# A name with one of these would mean more than one level or more than one name in a filter.
_WIDENING: Final = ("+", "#", "/", "\0")


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of a rule file. A selector that is None selects everyone, an empty one nobody.

    `users` are names. `members` are the names in the groups that the rule speaks of, and `groups`
    those of these groups whose members are named by tokens. `networks` are pairs of first and last
    address, as numbers of IPv6 (IPv4 mapped into it). `locate` are the users whose positions may
    be seen; where no rule has it, everybody's. `aggregate` are filters over which aggregates may be
    had of at least `aggregate_least` topics, without the right to read them.
    """

    users: frozenset[str] | None
    members: frozenset[str] | None
    groups: frozenset[str]
    clients: tuple[str, ...] | None
    networks: tuple[tuple[int, int], ...] | None
    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    deny_publish: tuple[str, ...]
    deny_subscribe: tuple[str, ...]
    locate: tuple[str, ...] | None = None
    aggregate: tuple[str, ...] = ()
    aggregate_least: int = 0

    def selects(self, user: str, client_id: str, groups: list[str], address: int) -> bool:
        """Whether the rule speaks of this client: every selector that it has must hold.

        Where the address is unknown, so are the groups: both are taken to hold as they did when
        the client was last heard.
        """
        if self.users is not None and not _names(self.users, user):
            return False
        members = self.members
        if members is not None and not _names(members, user):
            in_group = any(group in self.groups for group in groups)
            if not in_group and not (self.groups and address == UNKNOWN_ADDRESS):
                return False
        clients = self.clients
        if clients is not None and not any(_selects(one, client_id) for one in clients):
            return False
        networks = self.networks
        if networks is None or address == UNKNOWN_ADDRESS:
            return True
        return any(first <= address <= last for first, last in networks)


class Grant:
    """What one client (or all clients that the same rules fit) may do."""

    def __init__(
        self,
        publish: list[str],
        subscribe: list[str],
        deny_publish: list[str],
        deny_subscribe: list[str],
        most: int = DECISIONS_KEPT,
        locate: frozenset[str] = frozenset(),
        aggregates: dict[str, int] | None = None,
    ) -> None:
        self._locate = locate
        self._aggregates = aggregates if aggregates is not None else {}
        self._publish = _tree(publish)
        self._receive = _tree(subscribe)
        self._deny_publish = _tree(deny_publish)
        self._deny_receive = _tree(deny_subscribe)
        self._filters = subscribe
        self._denied_filters = deny_subscribe
        self._most = most
        self._publish_cache: dict[str, bool] = {}
        self._receive_cache: dict[str, bool] = {}
        self.book: RuleBook | None = None  # the book it comes from, until that lets go of it
        self.size = GRANT_BYTES
        for filters in (publish, subscribe, deny_publish, deny_subscribe, list(self._aggregates)):
            for filter in filters:
                self.size += FILTER_BYTES + 2 * getsizeof(filter)

    def may_publish(self, topic: str) -> bool:
        known = self._publish_cache.get(topic)
        if known is not None:
            return known
        answer = bool(self._publish.match(topic)) and not self._deny_publish.match(topic)
        self._remember(self._publish_cache, topic, answer)
        return answer

    def may_subscribe(self, filter: str, is_shared: bool = False) -> bool:
        """Of a filter without `$share/…`: what it really reads.

        A filter with a denied part is allowed, and its deliveries are checked one by one. The
        members of a shared subscription take each other's messages, so that one is refused.
        """
        for denied in self._denied_filters:
            if contains(denied, filter):
                return False
            if is_shared and meet(denied, filter) is not None:
                return False
        return any(contains(allowed, filter) for allowed in self._filters)

    def may_read_everything(self, filters: Sequence[str]) -> bool:
        """Whether every message on topics of `#` and of these filters may reach it."""
        if self._denied_filters:
            return False
        return self.may_subscribe("#") and all(self.may_subscribe(filter) for filter in filters)

    def least_participants(self, filter: str) -> int:
        """Of an aggregate over exactly that filter; 0 for none. A denial of any part of it counts
        here too."""
        if any(meet(denied, filter) is not None for denied in self._denied_filters):
            return 0
        return self._aggregates.get(filter, 0)

    def may_locate(self, user: str) -> bool:
        """Whether the positions of this user's clients may be seen."""
        return user in self._locate or ANY_NAMED_USER in self._locate

    def may_receive(self, topic: str) -> bool:
        """Whether a message on this topic may reach the client, by whatever subscription."""
        known = self._receive_cache.get(topic)
        if known is not None:
            return known
        answer = bool(self._receive.match(topic)) and not self._deny_receive.match(topic)
        self._remember(self._receive_cache, topic, answer)
        return answer

    def _remember(self, cache: dict[str, bool], topic: str, answer: bool) -> None:
        book = self.book
        if len(topic) > LONGEST_KEPT or book is None:
            return
        if len(cache) >= self._most:
            book.account.evicted += len(cache)
            self._weigh(-_size_of(cache))
            cache.clear()
        cache[topic] = answer
        self._weigh(DECISION_BYTES + getsizeof(topic))

    def _weigh(self, change: int) -> None:
        self.size += change
        if self.book is not None:
            self.book.weighed(change)

    def empty(self) -> None:
        """Its book has let go of it: it holds nothing and allows nothing any more."""
        self.book = None
        self._publish = FilterTree()
        self._receive = FilterTree()
        self._filters = []
        self._publish_cache = {}
        self._receive_cache = {}


class RuleBook:
    """All rules, and the grants made of them. An empty book allows nothing."""

    def __init__(self, rules: list[Rule], decisions_kept: int = DECISIONS_KEPT) -> None:
        self._rules = rules
        self.notes: list[str] = []  # what an operator should know about them
        self.guards_positions = any(rule.locate is not None for rule in rules)
        self._most = decisions_kept
        self.account = Account("grants", 32 * MIB)
        self._grants: dict[tuple[tuple[int, ...], str, str], Grant] = {}
        self._spared: Grant | None = None  # the newest, which is about to be asked

    def grant(self, user: str, client_id: str, groups: list[str], address: int) -> Grant:
        """What this client may do; one object for all clients that the same rules fit."""
        chosen: list[int] = []
        by_user = by_client = False
        for index, rule in enumerate(self._rules):
            if rule.selects(user, client_id, groups, address):
                is_assumed = address == UNKNOWN_ADDRESS and rule.networks is not None
                # A permission may be assumed from the past, a denial needs its address: ~index.
                chosen.append(~index if is_assumed else index)
                by_user = by_user or _mentions(rule, "%u")
                by_client = by_client or _mentions(rule, "%c")
        key = (tuple(chosen), user if by_user else "", client_id if by_client else "")
        grant = self._grants.get(key)
        if grant is None:
            grant = self._make(chosen, user, client_id)
            grant.book = self
            self._grants[key] = grant
            self._spared = grant
            self.weighed(grant.size)
        return grant

    def charge(self, account: Account) -> None:
        """What it holds is charged there from now on."""
        held = sum([grant.size for grant in self._grants.values()])
        self.account.grow(-held)
        self.account = account
        self.weighed(held)

    def close(self) -> None:
        """Other rules are in force: what it remembers is of no use."""
        self._spared = None
        for key in list(self._grants):
            self._drop(key)
        self.account = Account(self.account.name, self.account.budget)

    def weighed(self, change: int) -> None:
        """A grant has become larger."""
        account = self.account
        account.grow(change)
        if change > 0 and account.is_full():
            self._evict()

    def _evict(self) -> None:
        account = self.account
        excess = account.held - account.budget + account.budget // _EVICTED_PART
        oldest: list[tuple[tuple[int, ...], str, str]] = []
        for key, grant in self._grants.items():
            if excess <= 0:
                break
            if grant is not self._spared:
                excess -= grant.size
                oldest.append(key)
        for key in oldest:
            account.evicted += 1
            self._drop(key)

    def _drop(self, key: tuple[tuple[int, ...], str, str]) -> None:
        grant = self._grants.pop(key)
        self.account.grow(-grant.size)
        grant.empty()

    def _make(self, chosen: list[int], user: str, client_id: str) -> Grant:
        publish: list[str] = []
        subscribe: list[str] = []
        deny_publish: list[str] = []
        deny_subscribe: list[str] = []
        locate: set[str] = set()
        aggregates: dict[str, int] = {}
        for index in chosen:
            rule = self._rules[index if index >= 0 else ~index]
            locate.update(rule.locate or ())
            _fill(rule.publish, user, client_id, publish)
            _fill(rule.subscribe, user, client_id, subscribe)
            filled: list[str] = []
            _fill(rule.aggregate, user, client_id, filled)
            for filter in filled:
                least = aggregates.get(filter, rule.aggregate_least)
                aggregates[filter] = min(least, rule.aggregate_least)
            if index < 0:
                continue
            denials = rule.deny_publish + rule.deny_subscribe
            if any(_cannot_deny(template, user, client_id) for template in denials):
                # A name that escapes a denial by what it is made of gets nothing at all.
                return Grant([], [], [], [], self._most)
            _fill(rule.deny_publish, user, client_id, deny_publish)
            _fill(rule.deny_subscribe, user, client_id, deny_subscribe)
        return Grant(
            publish,
            subscribe,
            deny_publish,
            deny_subscribe,
            self._most,
            frozenset(locate),
            aggregates,
        )


def fill(template: str, user: str, client_id: str) -> str:
    """The filter that a template means for one client; "" where it means nothing.

    A name that could widen the filter, by a wildcard, a level or a leading `$`, fills no template.
    """
    if "%" not in template:
        return template
    parts: list[str] = []
    at = 0
    while True:
        mark = template.find("%", at)
        if mark < 0:
            parts.append(template[at:])
            break
        parts.append(template[at:mark])
        letter = template[mark + 1 : mark + 2]
        value = "%" if letter == "%" else user if letter == "u" else client_id
        if not value or any(character in value for character in _WIDENING):
            return ""
        parts.append(value)
        at = mark + 2
    filled = "".join(parts)
    if filled.startswith("$") and not template.startswith("$"):
        return ""
    try:
        check_filter(filled)
    except TopicError:
        return ""
    return filled


def check_template(template: str) -> None:
    """Raises TopicError unless the template is a filter once its names are filled in."""
    rest = template.replace("%%", "").replace("%u", "").replace("%c", "")
    if "%" in rest:
        raise TopicError("% must be followed by u (user name), c (client id) or another %")
    if template.startswith("$share/"):
        raise TopicError("a rule names topics, without $share/…")
    check_filter(template.replace("%%", "_").replace("%u", "_").replace("%c", "_"))


def _fill(templates: tuple[str, ...], user: str, client_id: str, into: list[str]) -> None:
    for template in templates:
        filled = fill(template, user, client_id)
        if filled:
            into.append(filled)


def _cannot_deny(template: str, user: str, client_id: str) -> bool:
    """Whether a denial cannot be spelled for this client; one that has no name needs none."""
    if ("%u" in template and not user) or ("%c" in template and not client_id):
        return False
    return not fill(template, user, client_id)


def _mentions(rule: Rule, name: str) -> bool:
    return any(
        name in template
        for templates in (
            rule.publish,
            rule.subscribe,
            rule.deny_publish,
            rule.deny_subscribe,
            rule.aggregate,
        )
        for template in templates
    )


def _names(names: frozenset[str], user: str) -> bool:
    return user in names or (user != "" and ANY_NAMED_USER in names)


def _selects(pattern: str, client_id: str) -> bool:
    if pattern.endswith("*"):
        return client_id.startswith(pattern[:-1])
    return client_id == pattern


def _tree(filters: list[str]) -> FilterTree:
    tree = FilterTree()
    for filter in filters:
        tree.put(TreeEntry(filter))
    return tree


def _size_of(cache: dict[str, bool]) -> int:
    return sum([DECISION_BYTES + getsizeof(topic) for topic in cache])
