"""The ledger: who holds how many bytes of what, and how many each may hold.

Every table that a client can fill has an account with a budget in bytes. An account is charged when
something enters its table and given back when that leaves, never for a message that passes. Beside
the budget, one client, one user and one address may hold a share of it, so that nobody fills a
table alone. A cache that is full lets go of something; what a client asks for is refused, in words
that it can be told, and counted.

Sizes are what the objects of a table cost in memory, estimated by its room and held against the
allocator by `tests/attacks`.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.budget.division import ARCHIVE, ASSUMED_MEMORY, divided

CLIENT_SHARE: Final = 0.25
USER_SHARE: Final = 0.5
ADDRESS_SHARE: Final = 0.5
# The last part in so many of each budget is for clients that hold little: those who hold much, from
# however many addresses, do not keep others from having anything at all.
RESERVED_PART: Final = 8
LITTLE: Final = 16_384


@mypyc_attr(acyclic=True)
class Owner:
    """In whose name something is held; an empty name has no share of its own, and no bound."""

    __slots__ = ("client_id", "network", "user")

    def __init__(self, client_id: str, user: str, network: str) -> None:
        self.client_id = client_id
        self.user = user
        self.network = network  # what counts as one address: of IPv6 the first half


# The broker itself, and its neighbours, who have judged what they pass on.
NOBODY: Final = Owner("", "", "")


# What the collector puts before an object that it walks, and which objects those are; and what the
# allocator rounds sizes up to.
_COLLECTED_BYTES: Final = 16
_IS_COLLECTED: Final = 1 << 14
_ALIGNMENT: Final = 16
# A large number in a field: compiled it is in the object, from its sources an object of its own.
NUMBER_BYTES: Final = 32 if __file__.endswith(".py") else 0


def object_bytes(kind: type) -> int:
    """What one of these takes, beside what it refers to: compiled classes are laid out otherwise
    than the same classes from their sources."""
    size = kind.__basicsize__
    if kind.__flags__ & _IS_COLLECTED:
        size += _COLLECTED_BYTES
    return -(-size // _ALIGNMENT) * _ALIGNMENT


class Account:
    """The bytes of one table. `take` and `give` of the same thing name the same size and owner."""

    __slots__ = (
        "address_most",
        "addresses",
        "budget",
        "client_most",
        "clients",
        "evicted",
        "held",
        "name",
        "refused",
        "user_most",
        "users",
    )

    def __init__(self, name: str, budget: int) -> None:
        self.name = name
        self.held = 0
        self.refused = 0  # things that clients asked for and were not given
        self.evicted = 0  # things that a cache let go of to make room
        self.clients: dict[str, int] = {}
        self.users: dict[str, int] = {}
        self.addresses: dict[str, int] = {}
        self.budget = 0
        self.client_most = 0
        self.user_most = 0
        self.address_most = 0
        self.allow(budget, CLIENT_SHARE, USER_SHARE, ADDRESS_SHARE)

    def allow(self, budget: int, client: float, user: float, address: float) -> None:
        """Another budget; the shares are parts of it. What is over them stays, and may not grow."""
        self.budget = budget
        self.client_most = int(budget * client)
        self.user_most = int(budget * user)
        self.address_most = int(budget * address)

    def refusal(self, size: int, owner: Owner) -> str:
        """Why there is no room for so much more; "" if there is."""
        if size <= 0:
            return ""
        if owner.client_id and self.clients.get(owner.client_id, 0) + size > self.client_most:
            return f"{self.name}: {self.client_most} bytes are most for one client"
        if owner.user and self.users.get(owner.user, 0) + size > self.user_most:
            return f"{self.name}: {self.user_most} bytes are most for one user"
        if owner.network and self.addresses.get(owner.network, 0) + size > self.address_most:
            return f"{self.name}: {self.address_most} bytes are most for one address"
        room = self.budget - self.held
        if size > room:
            return f"{self.name}: the broker has no more than {self.budget} bytes for them"
        if (
            owner.client_id
            and size > room - self.budget // RESERVED_PART
            and self.clients.get(owner.client_id, 0) + size > LITTLE
        ):
            return f"{self.name}: what is left of {self.budget} bytes is for those who hold less"
        return ""

    def refuses(self, size: int, owner: Owner) -> str:
        """As `refusal`, of something that is asked for: counted."""
        refusal = self.refusal(size, owner)
        if refusal:
            self.refused += 1
        return refusal

    def take(self, size: int, owner: Owner) -> str:
        """Charges it if there is room; otherwise counts and answers the refusal."""
        refusal = self.refuses(size, owner)
        if not refusal:
            self.hold(size, owner)
        return refusal

    def hold(self, size: int, owner: Owner) -> None:
        """Charges it in any case: it is there already, or was judged elsewhere."""
        self.held += size
        if owner.client_id:
            _change(self.clients, owner.client_id, size)
        if owner.user:
            _change(self.users, owner.user, size)
        if owner.network:
            _change(self.addresses, owner.network, size)

    def give(self, size: int, owner: Owner) -> None:
        """It has left the table."""
        self.hold(-size, owner)

    def grow(self, change: int) -> None:
        """What all share: the nodes of a tree, a cache."""
        self.held += change

    def is_full(self) -> bool:
        return self.held > self.budget

    def largest(self) -> tuple[str, int]:
        """The client that holds most, and how much."""
        name = ""
        most = 0
        for client, held in self.clients.items():
            if held > most:
                name = client
                most = held
        return name, most


@mypyc_attr(acyclic=True)
class Charge:
    """What one thing costs in one account: `size` of its own, and `common` to it and others.

    The total has the common part by what there really is of it, by `Account.grow`; it is in the
    share of whoever made it necessary.
    """

    __slots__ = ("account", "common", "owner", "size")

    def __init__(self, account: Account, size: int, common: int, owner: Owner) -> None:
        self.account = account
        self.size = size
        self.common = common
        self.owner = owner

    def refusal(self, instead: Charge | None = None) -> str:
        """Why it finds no room, in place of another if there is one; counted."""
        if instead is not None and instead.account is self.account:
            if instead.owner is self.owner and self.size <= instead.size:
                return ""
            instead.lift()
            refusal = self.account.refuses(self.size + self.common, self.owner)
            instead.lay()
            return refusal
        return self.account.refuses(self.size + self.common, self.owner)

    def inherit(self, other: Charge) -> None:
        """It takes the place of the other, and what was made for that."""
        if other.account is self.account:
            self.common = max(self.common, other.common)

    def lay(self) -> None:
        """It is there now."""
        self.account.hold(self.size + self.common, self.owner)
        self.account.grow(-self.common)

    def lift(self) -> None:
        """It is there no more."""
        self.account.give(self.size + self.common, self.owner)
        self.account.grow(self.common)


def _change(shares: dict[str, int], name: str, size: int) -> None:
    held = shares.get(name, 0) + size
    if held > 0:
        shares[name] = held
    else:
        shares.pop(name, None)


class Ledger:
    """The accounts of one broker."""

    __slots__ = (
        "accounts",
        "aliases",
        "deliveries",
        "directed",
        "geo",
        "grants",
        "mesh",
        "operators",
        "packets",
        "retained",
        "routes",
        "sessions",
        "subscriptions",
        "unsent",
    )

    def __init__(self) -> None:
        self.accounts = {
            name: Account(name, budget)
            for name, budget in divided(ASSUMED_MEMORY).items()
            if name != ARCHIVE
        }
        self.routes = self.accounts["routes"]
        self.grants = self.accounts["grants"]
        self.aliases = self.accounts["aliases"]
        self.packets = self.accounts["packets"]
        self.sessions = self.accounts["sessions"]
        self.subscriptions = self.accounts["subscriptions"]
        self.retained = self.accounts["retained"]
        self.mesh = self.accounts["mesh"]
        self.directed = self.accounts["directed"]
        self.operators = self.accounts["operators"]
        self.geo = self.accounts["geo"]
        self.deliveries = self.accounts["deliveries"]
        self.unsent = self.accounts["unsent"]

    def allow(self, budgets: dict[str, int], client: float, user: float, address: float) -> None:
        """Puts other budgets and shares in force."""
        for name, account in self.accounts.items():
            account.allow(budgets[name], client, user, address)
