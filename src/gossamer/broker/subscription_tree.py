"""Who subscribed to which filter: in person, as a member of a group, or as a part of the broker.

Each entry counts its changes, so that whoever keeps an answer made of some entries sees by the sum
whether it is still true.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.broker.sharing import Group
from gossamer.budget.ledger import Account, object_bytes
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.session.subscription import Subscription
from gossamer.topics.filter_tree import FilterNode, FilterTree, TreeEntry

# A node of the tree, and its small dictionary.
NODE_BYTES: Final = object_bytes(FilterNode) + 192


class Tap:
    """Something in the broker itself that reads what is published."""

    def take(self, message: Message, origin: Session | None, now: float) -> None:
        """`origin` is the publishing session, if it has one."""

    def guards_places(self) -> bool:
        """Whether it gets places that not everybody may see, and keeps them from those others."""
        return False


@mypyc_attr(acyclic=True)
class FilterEntry(TreeEntry):
    """Who subscribed to one filter."""

    __slots__ = ("_only", "_several", "changes", "groups", "taps")

    def __init__(self, filter: str) -> None:
        super().__init__(filter)
        self.changes = 0  # of those who subscribed
        # Most filters have one subscriber, and a dictionary for it would cost more than all else.
        self._only: Subscription | None = None
        self._several: dict[Session, Subscription] | None = None
        self.groups: dict[str, Group] | None = None
        self.taps: list[Tap] | None = None

    def subscriptions(self) -> list[Subscription]:
        if self._several is not None:
            return list(self._several.values())
        return [] if self._only is None else [self._only]

    def sole(self) -> Subscription | None:
        """The only one who gets what is published there, in person; None if there are others."""
        return self._only if self.groups is None and self.taps is None else None

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


class SubscriptionTree(FilterTree):
    """All subscriptions by filter. `account` has the nodes; who subscribed is charged where it is
    refused."""

    def __init__(self, account: Account) -> None:
        super().__init__()
        self._account = account

    def add(self, subscription: Subscription) -> None:
        """Adds or replaces this session's subscription to the filter [MQTT-3.8.4-3]."""
        entry = self._entered(subscription.filter)
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
        entry.changes += 1

    def drop(self, subscription: Subscription) -> None:
        entry = self.get(subscription.filter)
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
            if not entry.groups:
                entry.groups = None
        self._prune(entry)
        entry.changes += 1

    def add_tap(self, filter: str, tap: Tap) -> None:
        entry = self._entered(filter)
        if entry.taps is None:
            entry.taps = []
        entry.taps.append(tap)
        entry.changes += 1

    def remove_tap(self, filter: str, tap: Tap) -> None:
        entry = self.get(filter)
        if entry is None:
            return
        assert isinstance(entry, FilterEntry)
        if entry.taps is not None:
            entry.taps = [one for one in entry.taps if one is not tap] or None
        self._prune(entry)
        entry.changes += 1

    def taps(self, filter: str) -> list[Tap]:
        entry = self.get(filter)
        if entry is None:
            return []
        assert isinstance(entry, FilterEntry)
        return entry.taps or []

    def group(self, share: str, filter: str) -> Group | None:
        entry = self.get(filter)
        if entry is None:
            return None
        assert isinstance(entry, FilterEntry)
        return None if entry.groups is None else entry.groups.get(share)

    def _entered(self, filter: str) -> FilterEntry:
        found = self.get(filter)
        if found is None:
            entry = FilterEntry(filter)
            before = self.nodes
            self.put(entry)
            self._account.grow(NODE_BYTES * (self.nodes - before))
            return entry
        assert isinstance(found, FilterEntry)
        return found

    def _prune(self, entry: FilterEntry) -> None:
        if entry.is_empty():
            before = self.nodes
            self.remove(entry.filter)
            self._account.grow(NODE_BYTES * (self.nodes - before))
