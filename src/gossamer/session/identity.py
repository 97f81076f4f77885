"""Who is at the other end of a session, and how many sessions it has."""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.budget.ledger import Owner

UNKNOWN_ADDRESS: Final = "?"  # of a session that came back from the store
NO_GROUPS: Final[list[str]] = []


@mypyc_attr(acyclic=True)
class Identity(Owner):
    """Who is at the other end of a session, as the login proved it: what permission rules speak of,
    and in whose name the session holds what it has. A new connection of the session brings a new
    one; what was held before stays in the name of the old."""

    __slots__ = ("address", "groups", "listener", "rights")

    def __init__(
        self, client_id: str, user: str, address: str, listener: str, network: str = ""
    ) -> None:
        super().__init__(client_id, user, network)
        self.address = address
        self.listener = listener
        self.groups = NO_GROUPS
        self.rights: object = None  # what the permissions remember of this client


@mypyc_attr(acyclic=True)
class Holder:
    """How many sessions a user has, or an address for clients without a user; see
    `session_quotas.py`."""

    __slots__ = ("is_user", "kept", "lasting", "name")

    def __init__(self, name: str, is_user: bool) -> None:
        self.name = name
        self.is_user = is_user
        self.kept = 0
        self.lasting = 0  # of them, those that outlive their connections
