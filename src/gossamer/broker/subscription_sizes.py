"""What a subscription costs, before it is accepted: its record, its place in the tree, its areas.

Measured with a store, whose index has every filter of a lasting session too; its dictionaries are
taken as they are just after they grew. `tests/attacks/test_true_sizes.py` holds the figures.
"""

from __future__ import annotations

from sys import getsizeof
from typing import TYPE_CHECKING, Final

from gossamer.broker.routes import NODE_BYTES
from gossamer.budget.ledger import Charge, Owner
from gossamer.geo.glp import PREFIX
from gossamer.plus.engine import AskedOperator
from gossamer.session.records import SubscriptionRecord
from gossamer.session.session import Session
from gossamer.session.sizes import pairs_bytes
from gossamer.topics.names import split_share

if TYPE_CHECKING:
    from gossamer.broker.core import Core

# Beside its filter, which counts twice: the tree may hold every level of it again.
SUBSCRIPTION_BYTES: Final = 496
GROUP_BYTES: Final = 320
# A located subscription, and each number in what describes its areas.
LOCATED_BYTES: Final = 3200
COORDINATE_BYTES: Final = 176
# An operation, and each filter that it reads.
OPERATION_BYTES: Final = 3584
READ_BYTES: Final = 480


def charge_of(
    core: Core, session: Session, record: SubscriptionRecord, is_located: bool, is_operator: bool
) -> Charge:
    """A located one is charged to the account of the places, any other to its own."""
    share, filter = split_share(record.filter)
    size = SUBSCRIPTION_BYTES + 2 * getsizeof(record.filter) + pairs_bytes(record.user)
    if share:
        size += GROUP_BYTES + getsizeof(filter)
    nodes = 0 if is_operator else NODE_BYTES * core.routes.tree.growth(filter)
    if not is_located:
        return Charge(core.ledger.subscriptions, size, nodes, session.owner)
    size += LOCATED_BYTES
    for name, text in record.user:
        if name.startswith(PREFIX):
            size += COORDINATE_BYTES * (1 + text.count(";") + text.count(","))
    return Charge(core.ledger.geo, size + nodes, 0, session.owner)


def charge_of_operation(core: Core, asked: AskedOperator, key: str, owner: Owner) -> Charge:
    size = OPERATION_BYTES + 4 * getsizeof(key)
    nodes = _common_nodes(asked)
    for read in asked.plan.reads:
        size += READ_BYTES + 2 * getsizeof(read)
    account = core.ledger.operators
    if size + NODE_BYTES * nodes <= account.client_most:  # else it is refused whatever is there
        for read in asked.plan.reads:
            nodes += core.routes.tree.growth(read)
    # The nodes are in the account of the subscriptions too, which have the tree: rather twice than
    # in a budget that only others feel.
    return Charge(account, size + NODE_BYTES * nodes, 0, owner)


def _common_nodes(asked: AskedOperator) -> int:
    """How many nodes its own lists need, at most: every beginning that several of them share."""
    reads = len(asked.plan.reads)
    if reads == 1:
        return 0
    nodes = 0
    beginnings = 1
    for level in asked.plan.filter.split("/"):
        beginnings *= len(set(level.split(";")))
        if beginnings >= reads:
            break
        nodes += beginnings
    return nodes
