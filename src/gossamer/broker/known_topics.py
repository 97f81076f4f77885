"""The topics that a connection is known to be allowed to publish to, each with its route.

A few are in the price of a connection. More are charged to the account of the grants; where that
has no room, the connection starts anew with a few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.routes import Route

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection

MOST_TOPICS: Final = 4_096
# A place in the connection's table, and the route, if nobody else has it any more.
KNOWN_BYTES: Final = 768
# For the dozen topics of a usual device.
FREE_BYTES: Final = 16_384


def remember_topic(connection: Connection, route: Route) -> None:
    """The connection may publish there, and has."""
    account = connection.core.ledger.grants
    size = KNOWN_BYTES + 2 * len(route.topic_bytes)
    if len(connection.known) >= MOST_TOPICS:
        forget_topics(connection)
    if connection.known_free + size <= FREE_BYTES:
        connection.known_free += size
    elif not account.refusal(size, connection.owner):
        account.hold(size, connection.owner)
        connection.known_charged += size
    else:
        account.evicted += len(connection.known)
        forget_topics(connection)
        if size > FREE_BYTES:
            return
        connection.known_free = size
    # The route's own bytes are the key: a topic is not kept once for each of its publishers.
    connection.known[route.topic_bytes] = route


def forget_topics(connection: Connection) -> None:
    """All of them: rights have changed, or the connection has ended."""
    connection.known.clear()
    connection.known_free = 0
    if connection.known_charged:
        connection.core.ledger.grants.give(connection.known_charged, connection.owner)
        connection.known_charged = 0
