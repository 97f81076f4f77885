"""The seam to traces: publications whose publisher asks for it are told of, broker by broker.

A publisher asks with a User Property `traceparent` (W3C Trace Context). It travels on unaltered, so
all that tell of the message speak of one trace.
"""

from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.session.message import Message
from gossamer.wire.properties import Properties

TRACE_PROPERTY: Final = "traceparent"


@mypyc_attr(allow_interpreted_subclasses=True)
class Tracer:
    """A broker that tells nobody."""

    def __init__(self) -> None:
        self.follows = False

    def published(
        self, trace: str, message: Message, by: str, is_peer: bool, receivers: int, now: float
    ) -> None:
        """A message of that trace came at `now` from client or neighbour `by`, and went on."""


def trace_in(properties: Properties) -> str:
    """What the publisher asked with; "" if it did not."""
    for name, value in properties.user:
        if name == TRACE_PROPERTY:
            return value
    return ""
