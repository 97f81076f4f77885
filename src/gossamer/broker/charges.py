"""What sessions, subscriptions and operations cost in memory, and what refuses them for it.

A session is charged for its names, tables and will; its queue is counted elsewhere. A subscription
is charged before it is accepted: its record, its place in the tree, its areas. Measured with a
store, whose index has every filter of a lasting session too; its dictionaries are taken as they are
just after they grew. `tests/attacks/test_true_sizes.py` holds the figures.
"""

from __future__ import annotations

from sys import getsizeof
from typing import TYPE_CHECKING, Final

from gossamer.broker.subscription_tree import NODE_BYTES, FilterEntry
from gossamer.budget.ledger import NUMBER_BYTES, Charge, Owner, object_bytes
from gossamer.geo.glp import PREFIX
from gossamer.plus.engine import AskedOperator
from gossamer.session.message import Message
from gossamer.session.message_bytes import message_bytes, pairs_bytes, properties_bytes
from gossamer.session.records import SubscriptionRecord
from gossamer.session.session import Session
from gossamer.session.subscription import Subscription
from gossamer.topics.names import split_share
from gossamer.wire.packets import Connect

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection
    from gossamer.broker.core import Core


# The session, its record, identity and timers, its place in the store, and a connection.
SESSION_BYTES: Final = 2304
# A publication at QoS 2 that waits for its PUBREL; charged when there are so many more of them.
_INCOMING_BYTES: Final = 96
INCOMING_STEP: Final = 1_024
# A will before it is a message.
_WILL_BYTES: Final = 512


def why_no_session(
    connection: Connection, connect: Connect, client_id: str, existing: Session | None
) -> str:
    """Why there is no room for the session, or for its will; "" if there is."""
    size = SESSION_BYTES + 2 * getsizeof(client_id) + getsizeof(connection.owner.user)
    will = connect.will
    if will is not None:
        size += _WILL_BYTES + getsizeof(will.topic) + len(will.topic) + len(will.payload)
        if will.properties is not None:
            size += properties_bytes(will.properties)
    account = connection.core.ledger.sessions
    owner = connection.owner
    if existing is not None:
        size -= existing.charged  # what it has is in its name already
        owner = existing.owner
    return account.refuses(size, owner)


def why_no_more_incoming(core: Core, session: Session) -> str:
    """Why there is no room for more publications that wait for their PUBREL; asked now and then.

    3.1.1 has no Receive Maximum: all 65,535 identifiers may wait, and of many sessions.
    """
    refusal = core.ledger.sessions.refuses(_INCOMING_BYTES * INCOMING_STEP, session.owner)
    if not refusal:
        weigh_session(core, session)
    return refusal


def weigh_session(core: Core, session: Session) -> None:
    """Charges what it is now: a new one, one with another will, one without."""
    size = SESSION_BYTES + 2 * getsizeof(session.client_id) + getsizeof(session.user)
    will: Message | None = session.record.will
    if will is not None:
        size += message_bytes(will)
    if session.incoming is not None:
        size += _INCOMING_BYTES * INCOMING_STEP * (len(session.incoming) // INCOMING_STEP)
    core.ledger.sessions.hold(size - session.charged, session.owner)
    session.charged = size


def release_session(core: Core, session: Session) -> None:
    """It has ended."""
    core.ledger.sessions.give(session.charged, session.owner)
    session.charged = 0


# Its objects, and their places in the tables of the session, of the tree and of the store. Beside
# its filter, which counts twice unless it is one level: the tree may hold every level of it again.
_PLACES_BYTES: Final = 136
SUBSCRIPTION_BYTES: Final = (
    object_bytes(Subscription)
    + object_bytes(SubscriptionRecord)
    + object_bytes(Charge)
    + NUMBER_BYTES
    + object_bytes(FilterEntry)
    + _PLACES_BYTES
)
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
    texts = 2 if "/" in record.filter else 1
    size = SUBSCRIPTION_BYTES + texts * getsizeof(record.filter) + pairs_bytes(record.user)
    if share:
        size += GROUP_BYTES + getsizeof(filter)
    nodes = 0 if is_operator else NODE_BYTES * core.routes.tree.growth(filter)
    if not is_located:
        return Charge(core.ledger.subscriptions, size, nodes, session.owner)
    return Charge(core.ledger.geo, size + nodes + located_bytes(record.user), 0, session.owner)


def located_bytes(user: list[tuple[str, str]]) -> int:
    """What areas cost that are written so."""
    numbers = [
        1 + text.count(";") + text.count(",") for name, text in user if name.startswith(PREFIX)
    ]
    return LOCATED_BYTES + COORDINATE_BYTES * sum(numbers)


def charge_of_operation(core: Core, asked: AskedOperator, key: str, owner: Owner) -> Charge:
    size = OPERATION_BYTES + 4 * getsizeof(key) + (0 if asked.area is None else asked.area.size)
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
