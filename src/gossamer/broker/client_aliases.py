"""The topic aliases that a client sets on its connection [MQTT-3.3.2-12], charged to an account."""

from __future__ import annotations

from sys import getsizeof
from typing import TYPE_CHECKING, Final

from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection

ALIAS_BYTES: Final = 128  # its place in the table


def set_alias(connection: Connection, alias: int, topic: str) -> None:
    """Raises ProtocolError where there is no room for it.

    Its Topic Alias Maximum lets a client keep far more than its share by long topics, and an alias
    that it believes to be set cannot be refused otherwise.
    """
    account = connection.core.ledger.aliases
    size = ALIAS_BYTES + getsizeof(topic)
    known = connection.aliases.get(alias)
    if known is not None:
        if known == topic:
            return
        before = ALIAS_BYTES + getsizeof(known)
        account.give(before, connection.owner)
        connection.alias_bytes -= before
        del connection.aliases[alias]
    refusal = account.take(size, connection.owner)
    if refusal:
        raise ProtocolError(reasons.QUOTA_EXCEEDED, refusal)
    connection.alias_bytes += size
    connection.aliases[alias] = topic


def forget_aliases(connection: Connection) -> None:
    """The connection has ended [MQTT-3.3.2-7]."""
    connection.aliases.clear()
    connection.core.ledger.aliases.give(connection.alias_bytes, connection.owner)
    connection.alias_bytes = 0
