"""Who published a message, as brokers tell each other.

What a neighbour sends is published here by the neighbour: `$mesh/NAME` is its publisher, and
nothing that a client may do follows from it. A message that says where it comes from is told with
the client that published it as well, so that fence events name one vehicle on every broker: its
publisher is `$mesh/NAME/CLIENT` then. A name of a broker has no slash, and no client may have an
identifier that begins like that, so neither can be mistaken for the other.

On a link it is a property that MQTT does not have, like a message's name: a client can neither send
nor see it.
"""

from __future__ import annotations

from typing import Final

from gossamer.geo.glp import POSITION
from gossamer.wire.properties import Properties

# Client ids of neighbours begin like that, and no client's does.
NEIGHBOUR_PREFIX: Final = "$mesh/"
# With a neighbour's name before it, it is still no longer than a text of MQTT. A longer one is told
# to nobody: the neighbour alone is the publisher then.
LONGEST_PUBLISHER: Final = 65_000  # bytes


def publisher_behind(neighbour: str, publisher: str) -> str:
    """The publisher of what came from a neighbour's session, with its word of who that was."""
    return f"{neighbour}/{publisher}" if publisher else neighbour


def client_of(publisher: str) -> str:
    """The client that published it, on whatever broker; "" if nobody said."""
    if not publisher.startswith(NEIGHBOUR_PREFIX):
        return publisher
    return publisher[len(NEIGHBOUR_PREFIX) :].partition("/")[2]


def told_publisher(publisher: str, properties: Properties | None) -> bytes:
    """What neighbours are told with a message: who published it, if it says where that one is."""
    if properties is None or all(key != POSITION for key, _ in properties.user):
        return b""
    told = client_of(publisher).encode()
    return told if len(told) <= LONGEST_PUBLISHER else b""
