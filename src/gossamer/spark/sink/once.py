"""Publishes a partition of a batch effectively once, however often Spark writes it.

Rows are numbered in the order of their content, which does not depend on the order in which they
come. So a batch that is written again must have the same rows in the same partitions, as it has
wherever the query computes the same again.
"""

import hashlib
import ssl
import time
from dataclasses import dataclass
from typing import Final

from gossamer.backoff import Patience
from gossamer.spark.sink.errors import SinkError, untrusted
from gossamer.spark.sink.held import MAX_IDENTIFIER, HeldSession
from gossamer.spark.sink.messages import Row, message_of
from gossamer.spark.sink.settings import SinkSettings
from gossamer.wire.packets import Publish

# For so long after it was written, a batch may be written again.
KEPT_SECONDS: Final = 86_400
QOS: Final = 2


@dataclass(frozen=True)
class Part:
    """A partition of a batch of a query."""

    query: str
    batch: int
    partition: int

    def client_id(self, session: int) -> str:
        """Of 23 characters from a small alphabet, as every broker must take it."""
        text = f"{self.query}\0{self.batch}\0{self.partition}\0{session}"
        return "spark" + hashlib.sha256(text.encode()).hexdigest()[:18]

    def before(self) -> "Part":
        return Part(self.query, self.batch - 1, self.partition)


def publish_once(rows: list[Row], part: Part, settings: SinkSettings) -> int:
    """How many there were. Raises SinkError."""
    messages = [message_of(row, QOS) for row in sorted(rows, key=_content)]
    for message in messages:
        message.qos = QOS
    for session in range(-(-len(messages) // MAX_IDENTIFIER)):
        at = session * MAX_IDENTIFIER
        _publish_session(messages[at : at + MAX_IDENTIFIER], part.client_id(session), settings)
    if part.batch > 0:
        _forget(part.before(), settings)
    return len(messages)


def _publish_session(messages: list[Publish], client_id: str, settings: SinkSettings) -> None:
    patience = Patience(settings.retry_seconds)
    done = 0
    while done < len(messages):
        try:
            # The window opens anew with each connection.
            with HeldSession(settings, client_id, KEPT_SECONDS) as session:
                some = messages[done : done + session.window]
                session.publish(some, done + 1)
            done += len(some)
        except ssl.SSLCertVerificationError as problem:
            raise untrusted(settings.url, problem) from problem
        except OSError as problem:
            pause = patience.pause(time.monotonic())
            if pause is None:
                raise SinkError(
                    f"{settings.url}: {problem} (tried for {settings.retry_seconds:g} s)"
                ) from problem
            time.sleep(pause)


def _forget(part: Part, settings: SinkSettings) -> None:
    """Spark has finished with this batch: the broker need not know its rows any more."""
    session = 0
    try:
        while True:
            with HeldSession(settings, part.client_id(session), 0) as held:
                if not held.resumed:
                    return
            session += 1
    except OSError:
        return  # then the broker forgets it in time


def _content(row: Row) -> tuple[object, ...]:
    """In the order of time, then of everything else."""
    rest = sorted((name, repr(value)) for name, value in row.items() if name != "time")
    return str(row.get("time", "")), str(row["topic"]), tuple(rest)
