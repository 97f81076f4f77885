"""When and where a retained message was published: the last writer wins, on every broker alike.

The time is a hybrid clock's: a broker never stamps earlier than what it has seen, so a message that
was published in answer to another beats it even if its broker's clock is slow.

Between brokers the stamp travels as a User Property; clients never see it.
"""

from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.session.message import Message
from gossamer.wire.properties import Properties

STAMP_PROPERTY: Final = "gossamer-stamp"
# A removal is remembered this long, so that a broker that was away cannot bring the message back.
TOMBSTONE_SECONDS: Final = 7 * 86_400.0


@mypyc_attr(acyclic=True)
class Stamp:
    """Ordered by time, then by the broker's name. A replay tells what is old to somebody new."""

    __slots__ = ("is_replay", "micros", "origin")

    def __init__(self, micros: int, origin: str, is_replay: bool = False) -> None:
        self.micros = micros
        self.origin = origin
        self.is_replay = is_replay

    def is_after(self, other: "Stamp") -> bool:
        if self.micros != other.micros:
            return self.micros > other.micros
        return self.origin > other.origin

    def text(self) -> str:
        return f"{'r' if self.is_replay else 'l'};{self.micros};{self.origin}"


def parse_stamp(text: str) -> Stamp | None:
    """None for what no broker of ours writes."""
    parts = text.split(";", 2)
    if len(parts) != 3 or parts[0] not in ("r", "l") or not parts[1].isascii():
        return None
    if not parts[1].isdigit() or len(parts[1]) > 20:
        return None
    return Stamp(int(parts[1]), parts[2], parts[0] == "r")


def stamp_of(message: Message) -> Stamp | None:
    """The stamp is always the first User Property."""
    properties = message.properties
    if properties is None or not properties.user or properties.user[0][0] != STAMP_PROPERTY:
        return None
    return parse_stamp(properties.user[0][1])


def with_stamp(message: Message, stamp: Stamp, name: bytes | None = None) -> Message:
    """A copy that carries the stamp in place of any other; by another name, if one is given."""
    plain = unstamped(message)
    properties = copied(plain.properties)
    properties.user = [(STAMP_PROPERTY, stamp.text()), *properties.user]
    return plain.changed(properties=properties, name=name)


def unstamped(message: Message) -> Message:
    """The message as clients see it; itself, if it has no stamp."""
    properties = message.properties
    if properties is None or not properties.user or properties.user[0][0] != STAMP_PROPERTY:
        return message
    plain = copied(properties)
    plain.user = [pair for pair in properties.user if pair[0] != STAMP_PROPERTY]
    return message.changed(properties=plain)


def copied(properties: Properties | None) -> Properties:
    copy = Properties()
    if properties is not None:
        copy.payload_format = properties.payload_format
        copy.message_expiry = properties.message_expiry
        copy.content_type = properties.content_type
        copy.response_topic = properties.response_topic
        copy.correlation_data = properties.correlation_data
        copy.user = properties.user
    return copy
