"""Time-outs of connections: the login that does not come, the client that has gone silent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.broker.agenda import Duty
from gossamer.broker.stages import CLOSED, OPEN
from gossamer.wire import reasons

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection


class KeepAlive(Duty):
    """Ends a connection that was silent for one and a half times its keep-alive."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def fire(self, now: float) -> float:
        connection = self.connection
        if connection.stage == CLOSED:
            return 0.0
        due = connection.last_seen + connection.keep_alive
        if due > now:
            return due
        # [MQTT-3.1.2-22]
        connection.fail(reasons.KEEP_ALIVE_TIMEOUT, "nothing heard for too long", now)
        return 0.0


class LoginTimeout(Duty):
    """Ends a connection whose CONNECT has not succeeded in time."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def fire(self, now: float) -> float:
        connection = self.connection
        if connection.stage < OPEN:
            connection.core.counters.connections_refused += 1
            connection.close(now, True)
        return 0.0
