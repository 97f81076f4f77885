"""One retained message as it lies in memory: packed, with everything that is known of it.

Of a million of them hardly one is looked at, so an entry is one small object and its bytes: a head
of two numbers, then the packed message, which is unpacked when somebody asks for it.
"""

import struct
from sys import getsizeof
from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.broker.retained_stamps import TOMBSTONE_SECONDS, Stamp, with_stamp
from gossamer.budget.ledger import Owner
from gossamer.session.message import Message
from gossamer.session.message_bytes import (
    packed_bytes,
    packed_message,
    packed_topic,
    unpacked_message,
)
from gossamer.topics.name_tree import NameEntry

# Its number, and under which number the store keeps it, 0 if it does not.
_HEAD: Final = struct.Struct("<qq")
_MESSAGE_AT: Final = 16

# What an entry costs beside its message and its topic, of which the tree has a level again, and a
# node of that tree. `tests/attacks/test_true_sizes.py` holds the figures.
_ENTRY_BYTES: Final = 192
NODE_BYTES: Final = 304
# Its place among those that will be forgotten.
_EXPIRY_BYTES: Final = 72
_STAMP_BYTES: Final = 144
# The place of a removal among the others, beside its topic, which is kept there once more.
_REMOVAL_BYTES: Final = 32


@mypyc_attr(acyclic=True)
class RetainedEntry(NameEntry):
    """The last retained message of a topic, or that it was removed: then only its stamp matters.

    They are numbered as they come; what a store kept has a number below 0.
    """

    __slots__ = ("_data", "forget_at", "is_removal", "nodes", "owner", "stamp")

    def __init__(
        self,
        number: int,
        stored: int,
        message: Message,
        stamp: Stamp | None,
        owner: Owner,
        stamp_offset: float,
    ) -> None:
        """`message` has no stamp on it; `stamp_offset` is what the time in stamps is more than the
        time passed in."""
        self._data = _HEAD.pack(number, stored) + packed_message(message)
        self.owner = owner
        self.stamp = stamp
        self.is_removal = not message.payload
        self.nodes = 0  # bytes of the tree that its owner is charged with
        self.forget_at = message.expires_at if message.expires_at else 0.0
        if self.is_removal and stamp is not None:
            self.forget_at = stamp.micros / 1e6 - stamp_offset + TOMBSTONE_SECONDS

    def name(self) -> str:
        return packed_topic(self._data, _MESSAGE_AT)

    def number(self) -> int:
        number: int = _HEAD.unpack_from(self._data)[0]
        return number

    def stored(self) -> int:
        number: int = _HEAD.unpack_from(self._data)[1]
        return number

    def message(self) -> Message:
        """As clients get it; every time another one, since what is delivered keeps the encodings
        that are made of it."""
        return unpacked_message(self._data, _MESSAGE_AT)

    def stamped(self) -> Message:
        """As it is stored and sent to neighbours."""
        message = self.message()
        return message if self.stamp is None else with_stamp(message, self.stamp)

    def size(self) -> int:
        """What its owner is charged with, beside the nodes of its topic."""
        return _size(
            len(self._data) - _MESSAGE_AT,
            self.name(),
            self.forget_at != 0.0,
            self.stamp is not None,
            self.is_removal,
        )


def entry_bytes(message: Message) -> int:
    """What a message that has no stamp yet would be charged with, beside the nodes of its topic."""
    return _size(packed_bytes(message), message.topic, message.expires_at != 0.0, False, False)


def _size(packed: int, topic: str, has_end: bool, has_stamp: bool, is_removal: bool) -> int:
    size = _ENTRY_BYTES + packed + getsizeof(topic)
    if has_end:
        size += _EXPIRY_BYTES
    if has_stamp:
        size += _STAMP_BYTES
    return size + _REMOVAL_BYTES + getsizeof(topic) if is_removal else size
