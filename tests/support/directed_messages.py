"""Messages for one broker of a mesh that say whatever a test wants them to say."""

from gossamer.mesh.directed.message import DIRECTED_PROPERTY
from gossamer.session.message import Message
from gossamer.wire.properties import Properties


def a_directed(said: str, payload: bytes = b"x") -> Message:
    properties = Properties()
    properties.user = [(DIRECTED_PROPERTY, said)]
    return Message("$gossamer/errand", payload, 1, False, properties, 0.0, "", "")
