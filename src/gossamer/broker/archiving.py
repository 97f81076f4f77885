"""What is archived: each message once, at the broker where a client published it.

That is every accepted publication under the configured filters, whatever its QoS: retained ones,
the empty ones that clear them, and wills as they are published. What neighbours bring was archived
where it came from; what the broker says of itself (`$SYS`) and what operators and geofences
compute is not archived at all. A QoS 2 publication that is sent again is not accepted again.
"""

from gossamer.broker.core import Core
from gossamer.broker.routes import Route
from gossamer.session.archive import RETAIN_FLAG
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.wire.packets import PUBLISH
from gossamer.wire.property_codec import encode_properties


def archive_plain(
    core: Core, route: Route, payload: bytes, qos: int, session: Session, now: float
) -> None:
    """A publication without flags and properties."""
    journal = core.journal
    if journal.archive.append(
        route.topic_bytes, payload, qos, session.client_id, session.user, now
    ):
        journal.dirty = True


def archive_run(
    core: Core,
    route: Route,
    data: bytes,
    start: int,
    header: int,
    size: int,
    end: int,
    session: Session,
    now: float,
) -> None:
    """QoS 0 packets that differ in nothing but their payload."""
    journal = core.journal
    if journal.archive.append_run(
        route.topic_bytes,
        data,
        start,
        header,
        size,
        end,
        session.client_id,
        session.user,
        now,
    ):
        journal.dirty = True


def archive_message(core: Core, route: Route, message: Message, now: float) -> None:
    """Any publication."""
    journal = core.journal
    flags = message.qos | RETAIN_FLAG if message.retain else message.qos
    properties = message.properties
    if properties is None:
        kept = journal.archive.append(
            route.topic_bytes, message.payload, flags, message.publisher, message.user, now
        )
    else:
        kept = journal.archive.append_with_properties(
            route.topic_bytes,
            message.payload,
            flags,
            message.publisher,
            message.user,
            encode_properties(properties, PUBLISH),
            now,
        )
    if kept:
        journal.dirty = True


def must_refuse(core: Core, route: Route) -> bool:
    """Whether an acknowledgement would promise what the archive cannot keep now."""
    archive = core.journal.archive
    return route.archived and archive.is_required and not archive.accepts
