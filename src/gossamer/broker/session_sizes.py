"""What a session costs beside its subscriptions and its queue: its names, tables and will."""

from __future__ import annotations

from sys import getsizeof
from typing import TYPE_CHECKING, Final

from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.session.sizes import message_bytes, properties_bytes
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
    refusal = account.refusal(size, owner)
    if refusal:
        account.refused += 1
    return refusal


def why_no_more_incoming(core: Core, session: Session) -> str:
    """Why there is no room for more publications that wait for their PUBREL; asked now and then.

    3.1.1 has no Receive Maximum: all 65,535 identifiers may wait, and of many sessions.
    """
    account = core.ledger.sessions
    refusal = account.refusal(_INCOMING_BYTES * INCOMING_STEP, session.owner)
    if refusal:
        account.refused += 1
    else:
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
