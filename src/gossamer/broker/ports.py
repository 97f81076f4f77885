"""Seams to what a shell may plug in: processors and traces. The bases do nothing.

Archive and mesh, which are more, have files of their own: `archive_port.py`, `mesh_port.py`.
"""

from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.plus.jobs import Job
from gossamer.session.message import Message
from gossamer.session.session import Session

TRACE_PROPERTY: Final = "traceparent"


@mypyc_attr(allow_interpreted_subclasses=True)
class ProcessorPort:
    """The core hands a job over, the answer comes later. A broker without processors has none in
    its vocabulary; so nothing is ever started here."""

    def __init__(self) -> None:
        self.answered = 0  # publications that a worker looked at
        self.failed = 0  # those that none could: busy, too slow, or the worker died
        self.waiting = 0  # now
        self.weaknesses = 0  # ways in which workers are less confined than they should be

    def busy_seconds(self) -> int:
        """In how many seconds there may be room for more work; 0 if there is now."""
        return 0

    def start(self, job: Job) -> None:
        """Answered once, by `Broker.processed`, with None if it failed. Must not block."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Tracer:
    """Publications whose publisher asks for it are told of, broker by broker.

    A publisher asks with a User Property `traceparent` (W3C Trace Context). It travels on
    unaltered, so all that tell of the message speak of one trace.
    """

    def __init__(self) -> None:
        self.follows = False

    def follow(self, message: Message, by: Session, receivers: int, now: float) -> None:
        """A message came from client or neighbour `by`, and went on."""
        properties = message.properties
        if properties is None:
            return
        for name, value in properties.user:
            if name == TRACE_PROPERTY and value:
                self.published(value, message, by.client_id, by.is_peer, receivers, now)
                return

    def published(
        self, trace: str, message: Message, by: str, is_peer: bool, receivers: int, now: float
    ) -> None:
        """The same, of a message of that trace."""
