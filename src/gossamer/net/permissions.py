"""The rule file: TOML to the compiled `RuleBook`, whole or refused.

[groups]
operators = ["ann", "bob"]

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
"""

import ipaddress
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from gossamer.broker.rules import NO_ADDRESS, Rule, RuleBook, check_template
from gossamer.net.config.loading import parse_model, read_text
from gossamer.net.config.section import Section
from gossamer.net.config.units import Allowed, Network

IPV4_IN_IPV6 = 0xFFFF << 32
LOCAL_SOCKET = IPV4_IN_IPV6 | int(ipaddress.IPv4Address("127.0.0.1"))


def _checked(template: str) -> str:
    check_template(template)
    return template


Template = Annotated[
    str,
    AfterValidator(_checked),
    Allowed("a topic filter, in which %u is the user name and %c the client id"),
]


class RuleEntry(Section):
    """`[[rule]]`: whom it speaks of, and what they may do."""

    users: tuple[str, ...] | None = Field(default=None, description='Names; "*" for any user.')
    groups: tuple[str, ...] | None = Field(default=None, description="Names of `[groups]`.")
    clients: tuple[str, ...] | None = Field(
        default=None, description="Client ids; a last `*` stands for anything."
    )
    addresses: tuple[Network, ...] | None = Field(default=None, description="Where they are.")
    publish: tuple[Template, ...] = Field(default=(), description="Where they may publish.")
    subscribe: tuple[Template, ...] = Field(default=(), description="What they may read.")
    deny_publish: tuple[Template, ...] = Field(default=(), description="But not there.")
    deny_subscribe: tuple[Template, ...] = Field(default=(), description="But not this.")


class RuleFile(Section):
    """The whole file."""

    groups: dict[str, tuple[str, ...]] = Field(default={}, description="Users by group.")
    rule: tuple[RuleEntry, ...] = Field(default=(), description="The rules; all that fit count.")

    @model_validator(mode="after")
    def _groups_exist(self) -> "RuleFile":
        for number, entry in enumerate(self.rule, 1):
            for group in entry.groups or ():
                if group not in self.groups:
                    raise ValueError(f"rule[{number}].groups names {group}, which is no group")
        return self


def load_rules(path: Path, decisions_kept: int) -> RuleBook:
    """The rules in `path`, or ConfigError. An empty file allows nothing."""
    return parse_rules(read_text(path), str(path), decisions_kept)


def parse_rules(text: str, name: str = "rules", decisions_kept: int = 4096) -> RuleBook:
    """The rules that `text` spells."""
    file = parse_model(RuleFile, text, name)
    return RuleBook([_rule(file, entry) for entry in file.rule], decisions_kept)


def _rule(file: RuleFile, entry: RuleEntry) -> Rule:
    users: frozenset[str] | None = None
    if entry.users is not None or entry.groups is not None:
        members = [user for group in entry.groups or () for user in file.groups[group]]
        users = frozenset([*(entry.users or ()), *members])
    return Rule(
        users=users,
        clients=entry.clients,
        networks=None if entry.addresses is None else tuple(map(network_range, entry.addresses)),
        publish=entry.publish,
        subscribe=entry.subscribe,
        deny_publish=entry.deny_publish,
        deny_subscribe=entry.deny_subscribe,
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
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return NO_ADDRESS
    return IPV4_IN_IPV6 | int(parsed) if parsed.version == 4 else int(parsed)
