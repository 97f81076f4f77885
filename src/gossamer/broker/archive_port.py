"""What is archived: each message once, at the broker where a client published it.

That is every accepted publication under the configured filters, whatever its QoS: retained ones,
the empty ones that clear them, and wills as they are published. What neighbours bring was archived
where it came from; what the broker says of itself (`$SYS`) and what operators and geofences
compute is not archived at all. A QoS 2 publication that is sent again is not accepted again.

`ArchivePort` is all that the broker knows of an archive; `gossamer.archive` implements it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.wire.packets import PUBLISH
from gossamer.wire.property_codec import encode_properties

if TYPE_CHECKING:
    from gossamer.broker.core import Core
    from gossamer.broker.routes import Route
    from gossamer.session.message import Message
    from gossamer.session.session import Session

RETAIN_FLAG: Final = 0x04  # beside the QoS in the two bits below

# QoS 0 is not archived while more than this waits for the disk: it promises nothing, and the
# broker's memory is worth more. The settings of a broker have their own.
MOST_WAITING_BYTES: Final = 128 * 1024 * 1024


class ArchivePlace:
    """Behind all that was archived up to a moment: the offset that comes next, which is known once
    that is on disk, and negative until then."""

    __slots__ = ("offset",)

    def __init__(self, offset: int = -1) -> None:
        self.offset = offset


class ArchivePort:
    """Takes rows, which belong to the journal's transaction. The base is that of a broker without
    an archive: it takes nothing.

    `accepts` is False while the disk takes nothing: then rows are dropped and counted, and where
    `is_required` is set the core refuses what it would have to acknowledge.
    """

    __slots__ = (
        "accepts",
        "archived",
        "dropped",
        "is_required",
        "most_waiting",
        "unwritten",
        "wall_offset",
    )

    def __init__(self) -> None:
        self.accepts = True
        self.is_required = False
        self.archived = 0  # rows since start
        self.dropped = 0  # rows that should have been archived and were not taken
        self.unwritten = 0  # rows that were taken, and that the disk did not take; the writer's
        self.wall_offset = 0.0  # rows have the wall clock's time
        self.most_waiting = MOST_WAITING_BYTES

    def append(
        self,
        topic: bytes,
        payload: bytes,
        flags: int,
        publisher: str,
        user: str,
        now: float,
        properties: bytes = b"",
    ) -> bool:
        """One row; False if it was dropped. `flags` are its QoS and RETAIN_FLAG, `properties` those
        of its PUBLISH, encoded, if it has any."""
        return False

    def append_run(
        self,
        topic: bytes,
        data: bytes,
        start: int,
        header: int,
        size: int,
        end: int,
        flags: int,
        publisher: str,
        user: str,
        now: float,
    ) -> bool:
        """Packets of one size from `start` to `end`, each a header and a payload."""
        return False

    def place(self) -> ArchivePlace:
        """Where the archive ends now."""
        return ArchivePlace(0)

    def missing(self) -> int:
        """Rows that the archive does not have, and should."""
        return self.dropped + self.unwritten

    def waiting_bytes(self) -> int:
        """Payloads that were collected, and not taken away yet."""
        return 0


def archive_run(
    core: Core,
    route: Route,
    data: bytes,
    start: int,
    header: int,
    size: int,
    end: int,
    flags: int,
    session: Session,
    now: float,
) -> None:
    """Packets that differ in nothing but their payload, and their packet identifier. The archive
    takes those that are to be acknowledged, or whoever asks has seen that it does not."""
    if core.archive.append_run(
        route.topic_bytes,
        data,
        start,
        header,
        size,
        end,
        flags,
        session.client_id,
        session.user,
        now,
    ):
        core.journal.dirty = True


def archive_message(core: Core, route: Route, message: Message, now: float) -> None:
    """Any publication."""
    flags = message.qos | RETAIN_FLAG if message.retain else message.qos
    properties = message.properties
    if core.archive.append(
        route.topic_bytes,
        message.payload,
        flags,
        message.publisher,
        message.user,
        now,
        b"" if properties is None else encode_properties(properties, PUBLISH),
    ):
        core.journal.dirty = True


def must_refuse(core: Core, route: Route) -> bool:
    """Whether an acknowledgement would promise what the archive cannot keep now."""
    archive = core.archive
    return route.archived and archive.is_required and not archive.accepts
