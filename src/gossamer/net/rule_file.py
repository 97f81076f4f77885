"""The rule file: TOML to the compiled `RuleBook`, whole or refused. For example:

[groups]
operators = ["ann", "bob"]
auditors = []                   # no members here: tokens say who is one

[[rule]]                        # everyone may read the weather
subscribe = ["weather/#"]

[[rule]]                        # a device writes under its own name, from the plant's network
users = ["*"]
addresses = ["10.1.0.0/16"]
publish = ["devices/%u/#"]

[[rule]]
groups = ["operators"]
subscribe = ["#", "$SYS/#"]
deny_subscribe = ["payroll/#"]
locate = ["*"]                  # since one rule says who sees positions, the others see none

[[rule]]                        # the city sees how much its homes use together, and no home
users = ["city"]
aggregate = ["home/+/power"]    # $SUM$HOURLYAVG/home/+/power, say
aggregate_least = 20            # of no fewer homes
"""

import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from gossamer.broker.permission_rules import (
    NO_ADDRESS,
    UNKNOWN_ADDRESS,
    Grant,
    Rule,
    RuleBook,
    check_template,
)
from gossamer.broker.policy import Permissions
from gossamer.budget.ledger import Account
from gossamer.net.config.loading import parse_model, read_text
from gossamer.net.config.section import After, Section, setting
from gossamer.net.config.value_types import Allowed, Network
from gossamer.session.identity import UNKNOWN_ADDRESS as UNKNOWN_ADDRESS_TEXT
from gossamer.session.identity import Identity

IPV4_IN_IPV6 = 0xFFFF << 32
LOCAL_SOCKET = IPV4_IN_IPV6 | int(ipaddress.IPv4Address("127.0.0.1"))


def _checked(template: str) -> str:
    check_template(template)
    return template


Template = Annotated[
    str,
    After(_checked),
    Allowed("a topic filter, in which %u is the user name and %c the client id"),
]


class RuleEntry(Section):
    """`[[rule]]`: whom it speaks of, and what they may do."""

    users: tuple[str, ...] | None = None
    """Names; "*" for any user."""
    groups: tuple[str, ...] | None = None
    """Names of `[groups]`."""
    match: Literal["all"] | None = None
    """`all`: users and groups are both meant, and nobody needs to be warned of it."""
    clients: tuple[str, ...] | None = None
    """Client ids; a trailing `*` matches anything."""
    addresses: tuple[Network, ...] | None = None
    """Where they are."""
    publish: tuple[Template, ...] = ()
    """Filters that they may publish to."""
    subscribe: tuple[Template, ...] = ()
    """Filters that they may subscribe to."""
    deny_publish: tuple[Template, ...] = ()
    """Exceptions from publish."""
    deny_subscribe: tuple[Template, ...] = ()
    """Exceptions from subscribe."""
    aggregate: tuple[Template, ...] = ()
    """Filters over which they may have aggregates of windows, without the right to read them."""
    aggregate_least: int = setting(default=10, ge=2)
    """Topics that must take part in such an aggregate."""
    locate: tuple[str, ...] | None = None
    """Users whose positions they may see; "*" for everyone's."""


class RuleFile(Section):
    """The whole file."""

    groups: dict[str, tuple[str, ...]] = setting(default={})
    """Users by group."""
    rule: tuple[RuleEntry, ...] = ()
    """The rules; all that fit count."""

    def check(self) -> None:
        """Its groups exist."""
        for number, entry in enumerate(self.rule, 1):
            for group in entry.groups or ():
                if group not in self.groups:
                    raise ValueError(f"rule[{number}].groups names {group}, which is no group")


class RulePermissions(Permissions):
    """The core's permissions, from a book of rules."""

    def __init__(self, book: RuleBook) -> None:
        super().__init__()
        self.restricts = True
        self.guards_positions = book.guards_positions
        self._book = book

    def charge(self, account: Account) -> None:
        self._book.charge(account)

    def close(self) -> None:
        self._book.close()

    def may_publish(self, client: Identity, topic: str) -> bool:
        return self._grant(client).may_publish(topic)

    def may_subscribe(self, client: Identity, filter: str, is_shared: bool) -> bool:
        return self._grant(client).may_subscribe(filter, is_shared)

    def least_participants(self, client: Identity, filter: str) -> int:
        return self._grant(client).least_participants(filter)

    def may_receive(self, client: Identity, topic: str) -> bool:
        return self._grant(client).may_receive(topic)

    def may_locate(self, client: Identity, user: str) -> bool:
        return (user != "" and user == client.user) or self._grant(client).may_locate(user)

    def may_read_everything(self, client: Identity, filters: Sequence[str]) -> bool:
        # Where positions are guarded, nobody sees those of publishers without a name.
        return not self.guards_positions and self._grant(client).may_read_everything(filters)

    def may_have_published(self, user: str, client_id: str, topic: str) -> bool:
        return self._book.grant(user, client_id, [], UNKNOWN_ADDRESS).may_publish(topic)

    def _grant(self, client: Identity) -> Grant:
        known = client.rights
        if isinstance(known, Grant) and known.book is self._book:
            return known
        address = address_number(client.address)
        grant = self._book.grant(client.user, client.client_id, client.groups, address)
        client.rights = grant
        return grant


def load_rules(path: Path, decisions_kept: int) -> RuleBook:
    """The rules in `path`, or ConfigError. An empty file allows nothing."""
    return parse_rules(read_text(path), str(path), decisions_kept)


def parse_rules(text: str, name: str = "rules", decisions_kept: int = 4096) -> RuleBook:
    """The rules that `text` spells."""
    file = parse_model(RuleFile, text, name)
    book = RuleBook([_rule(file, entry) for entry in file.rule], decisions_kept)
    book.notes = [
        _narrowed(name, number, entry)
        for number, entry in enumerate(file.rule, 1)
        if entry.users is not None and entry.groups is not None and entry.match is None
    ]
    return book


def _narrowed(name: str, number: int, entry: RuleEntry) -> str:
    """Users and groups of a rule were added up once, whatever the documentation said."""
    denials = [key for key in ("deny_publish", "deny_subscribe") if getattr(entry, key)]
    effect = (
        f"so {' and '.join(denials)} hold for FEWER clients than before"
        if denials
        else "so fewer clients have what it allows"
    )
    return (
        f"{name}: rule[{number}] has users and groups, and speaks of those users who are in the "
        f"groups (it used to speak of all of both), {effect}; if that is meant, add "
        'match = "all" to it, else make two rules of it, one with users and one with groups'
    )


def _rule(file: RuleFile, entry: RuleEntry) -> Rule:
    groups = entry.groups or ()
    members = frozenset(user for group in groups for user in file.groups[group])
    return Rule(
        users=None if entry.users is None else frozenset(entry.users),
        members=None if entry.groups is None else members,
        groups=frozenset(group for group in groups if not file.groups[group]),
        clients=entry.clients,
        networks=None if entry.addresses is None else tuple(map(network_range, entry.addresses)),
        publish=entry.publish,
        subscribe=entry.subscribe,
        deny_publish=entry.deny_publish,
        deny_subscribe=entry.deny_subscribe,
        locate=entry.locate,
        aggregate=entry.aggregate,
        aggregate_least=entry.aggregate_least,
    )


def network_range(network: str) -> tuple[int, int]:
    """The first and the last address of a network, as `address_number` numbers them."""
    parsed = ipaddress.ip_network(network, strict=False)
    offset = IPV4_IN_IPV6 if parsed.version == 4 else 0
    return offset | int(parsed.network_address), offset | int(parsed.broadcast_address)


def address_number(address: str) -> int:
    """An address as a number of IPv6; a client of a Unix socket (no address) is on this machine."""
    if not address:
        return LOCAL_SOCKET
    if address == UNKNOWN_ADDRESS_TEXT:
        return UNKNOWN_ADDRESS
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return NO_ADDRESS
    return IPV4_IN_IPV6 | int(parsed) if parsed.version == 4 else int(parsed)
