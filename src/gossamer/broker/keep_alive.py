"""Time-outs of connections: the login that does not come, the client that has gone silent.

Timers know their connection by its number, so that none is kept alive that has ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.broker.core import CLOSED, OPEN
from gossamer.broker.timers import Timer
from gossamer.wire import reasons

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection
    from gossamer.broker.core import Core


class KeepAliveTimer(Timer):
    """Ends a connection that was silent for one and a half times its keep-alive."""

    def __init__(self, core: Core, token: int) -> None:
        self.core = core
        self.token = token

    def fire(self, now: float) -> float:
        connection = self.core.connections.get(self.token)
        if connection is None or connection.stage == CLOSED:
            return 0.0
        due = connection.last_seen + connection.keep_alive
        if due > now:
            return due
        # [MQTT-3.1.2-22]
        connection.fail(reasons.KEEP_ALIVE_TIMEOUT, "keep alive timeout", now)
        return 0.0


class LoginTimeout(Timer):
    """Ends a connection whose CONNECT has not succeeded in time."""

    def __init__(self, core: Core, token: int) -> None:
        self.core = core
        self.token = token

    def fire(self, now: float) -> float:
        connection = self.core.connections.get(self.token)
        if connection is not None and connection.stage < OPEN:
            self.core.counters.connections_refused += 1
            connection.close(now, True)
        return 0.0


def expect_login(connection: Connection, now: float) -> None:
    """A connection was accepted: its CONNECT must succeed in time."""
    due = now + connection.settings.login_timeout
    _set(connection, LoginTimeout(connection.core, connection.token), due)


def keep_alive(connection: Connection, now: float) -> None:
    """The client is in: from now on it must not be silent for longer than was agreed."""
    due = now + connection.keep_alive
    _set(connection, KeepAliveTimer(connection.core, connection.token), due)


def stop_timer(connection: Connection) -> None:
    timer = connection.timer
    if timer is not None:
        connection.timer = None
        connection.core.timers.cancel(timer)


def _set(connection: Connection, timer: Timer, due: float) -> None:
    stop_timer(connection)
    connection.timer = timer
    connection.core.timers.add(due, timer)
