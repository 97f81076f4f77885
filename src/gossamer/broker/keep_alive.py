"""Time-outs of connections: the login that does not come, the client that has gone silent.

A connection is its own timer: there are many of them, and each has exactly one thing to wait for,
its login first and then its client's next word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.broker.core import CLOSED, OPEN
from gossamer.wire import reasons

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection


def expect_login(connection: Connection, now: float) -> None:
    """A connection was accepted: its CONNECT must succeed in time."""
    connection.core.timers.add(now + connection.settings.login_timeout, connection)


def keep_alive(connection: Connection, now: float) -> None:
    """The client is in: from now on it must not be silent for longer than was agreed."""
    connection.core.timers.add(now + connection.keep_alive, connection)


def time_out(connection: Connection, now: float) -> float:
    """What it waited for may not have come: ends it then. The answer is when to look again."""
    if connection.stage == CLOSED:
        return 0.0
    if connection.stage < OPEN:
        connection.core.counters.connections_refused += 1
        connection.close(now, True)
        return 0.0
    due = connection.last_seen + connection.keep_alive
    if due > now:
        return due
    # [MQTT-3.1.2-22]
    connection.fail(reasons.KEEP_ALIVE_TIMEOUT, "keep alive timeout", now)
    return 0.0


def stop_timer(connection: Connection) -> None:
    connection.core.timers.cancel(connection)
