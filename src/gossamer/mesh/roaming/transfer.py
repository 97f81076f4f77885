"""A session on its way to another broker, as directed messages: head, messages, end.

    head   subscriptions, expiry, what the client has not released yet, and, if it came from another
           broker shortly before, what it has had since; which messages passed its brokers while
           it was there, so that it has had them; where its client was last seen
    item   one message that waits or is in flight, with its place and state
    end    that was all
    late   one that came to the old broker afterwards

All travel at QoS 2 and in order. The broker that gives a session away does so in the transaction
that puts the directed messages into the queue of a link; from then on they are the session.
"""

from __future__ import annotations

import json
from typing import Final

from gossamer.geo.earth import Point
from gossamer.mesh.directed.message import NO_MESSAGE, DirectedMessage, Fields
from gossamer.mesh.json_fields import (
    JsonFields,
    list_of,
    malformed,
    number_of,
    read_fields,
    real_of,
    text_of,
)
from gossamer.session.message import Message
from gossamer.session.message_names import NAME_BYTES
from gossamer.session.name_bits import NameBits, unpacked_names
from gossamer.session.records import (
    QUEUED,
    RELEASED,
    DeliveryRecord,
    SessionRecord,
    SubscriptionRecord,
)
from gossamer.session.session import NEVER, Session
from gossamer.topics.names import TopicError, check_filter, split_share
from gossamer.wire.frames import VARINT_MAX

HEAD: Final = "head"
ITEM: Final = "item"
END: Final = "end"
LATE: Final = "late"

# More than any session has; they only bound what is read.
MOST_SUBSCRIPTIONS: Final = 1_000_000
_MOST_IDENTIFIERS: Final = 1_000_000
_MOST_SEEN: Final = 1_000_000
_MOST_PASSED: Final = 1_000_000  # bytes, packed
MOST_PASSING: Final = 64
_LATEST: Final = 1e12  # seconds of the wall clock, in thirty thousand years
_NO_SUBSCRIPTION: Final = "a malformed subscription"
_RECORD_FIELDS: Final = ("filter", "qos", "no_local", "rap", "handling", "identifier", "user")


def head_directed(
    session: Session,
    to: str,
    source: str,
    since: int,
    incoming: list[int],
    passed: NameBits,
    seen_at: tuple[Point, float] | None,
    passing: list[str],
) -> DirectedMessage:
    """`passed` are messages that it has had, as far as it wanted them; `seen_at` is where its
    client was last, if it says such things, and when."""
    record = session.record
    content: dict[str, object] = {
        "user": record.user,
        "expiry": record.expiry,
        "is_311": record.is_311,
        "number": session.last_number(),
        "incoming": incoming,
        "seen": "" if session.seen is None else session.seen.names().hex(),
        "passed": passed.packed().hex(),
        "passing": passing,
        "subscriptions": [_listed(each.record) for each in session.subscriptions.values()],
    }
    if seen_at is not None:
        point, at = seen_at
        content["position"] = [point.lat, point.lon, at]
    carried = Message("", json.dumps(content).encode(), 0, False, None, 0.0, "", "")
    fields: Fields = {"client": session.client_id, "source": source, "since": since}
    return DirectedMessage(HEAD, to, fields, carried)


def item_directed(
    kind: str, source: str, client_id: str, to: str, delivery: DeliveryRecord
) -> DirectedMessage:
    message = delivery.message
    fields: Fields = {
        "client": client_id,
        "source": source,
        "number": delivery.number,
        "granted": delivery.qos,
        "kept": delivery.retain,
        "identifiers": delivery.identifiers,
        "packet": delivery.packet_id,
        "state": delivery.state,
        "share": delivery.share,
        "name": "" if message is None else message.name.hex(),
        "publisher": "" if message is None else message.publisher,
        "by": "" if message is None else message.user,
        "empty": message is None,
    }
    return DirectedMessage(kind, to, fields, NO_MESSAGE if message is None else message)


def end_directed(source: str, client_id: str, to: str) -> DirectedMessage:
    return DirectedMessage(END, to, {"client": client_id, "source": source}, NO_MESSAGE)


def delivery_of(directed: DirectedMessage) -> DeliveryRecord:
    """What `item_directed` packed."""
    message = directed.message.changed(
        publisher=directed.text("publisher"),
        user=directed.text("by"),
        name=directed.binary("name", NAME_BYTES, 2),
    )
    is_empty = directed.flag("empty")
    state = directed.number("state", QUEUED, RELEASED)
    qos = directed.number("granted", 0, 2)
    if is_empty and qos and state != RELEASED:
        raise malformed("an empty delivery")
    if not is_empty and not message.topic:
        raise malformed("a delivery without a topic")
    return DeliveryRecord(
        directed.number("number"),
        None if is_empty else message,
        qos,
        directed.flag("kept"),
        directed.numbers("identifiers", _MOST_IDENTIFIERS, 1, VARINT_MAX),
        directed.number("packet", 0, 65_535),
        state,
        directed.text("share"),
    )


class TransferHead:
    """What a head says."""

    __slots__ = (
        "incoming",
        "number",
        "passed",
        "passing",
        "record",
        "seen",
        "seen_at",
        "since",
        "source",
        "subscriptions",
    )

    def __init__(self, directed: DirectedMessage) -> None:
        said = read_fields(directed.message.payload, "a session")
        record = SessionRecord(
            directed.text("client"), said.text("user"), said.number("expiry", 0, NEVER)
        )
        record.is_311 = said.flag("is_311")
        self.number = said.number("number")
        self.incoming = said.numbers("incoming", 65_535, 1, 65_535)
        self.seen = said.binary("seen", NAME_BYTES, _MOST_SEEN)
        self.passed = _passed(said)
        # Earlier versions name none.
        self.passing = _brokers(said) if "passing" in said.fields else []
        listed = said.items("subscriptions", MOST_SUBSCRIPTIONS)
        self.subscriptions = [_subscription(each) for each in listed]
        self.seen_at = _position(said)
        self.record = record
        self.source = directed.text("source")
        self.since = directed.number("since")


def _listed(record: SubscriptionRecord) -> list[object]:
    return [
        record.filter,
        record.qos,
        record.no_local,
        record.retain_as_published,
        record.retain_handling,
        record.identifier,
        [[name, value] for name, value in record.user],
    ]


def _subscription(said: object) -> SubscriptionRecord:
    listed = list_of(said, len(_RECORD_FIELDS), _NO_SUBSCRIPTION)
    if len(listed) != len(_RECORD_FIELDS):
        raise malformed(_NO_SUBSCRIPTION)
    fields = dict(zip(_RECORD_FIELDS, listed, strict=True))
    filter = text_of(fields["filter"], _NO_SUBSCRIPTION)
    try:
        check_filter(split_share(filter)[1], 65_535)
    except TopicError as error:
        raise malformed(f"{_NO_SUBSCRIPTION}: {error}") from None
    record = SubscriptionRecord(
        filter,
        number_of(fields["qos"], 0, 2, _NO_SUBSCRIPTION),
        fields["no_local"] is True,
        fields["rap"] is True,
        number_of(fields["handling"], 0, 2, _NO_SUBSCRIPTION),
        number_of(fields["identifier"], 0, VARINT_MAX, _NO_SUBSCRIPTION),
    )
    for pair in list_of(fields["user"], 65_535, _NO_SUBSCRIPTION):
        both = list_of(pair, 2, _NO_SUBSCRIPTION)
        if len(both) != 2:
            raise malformed(_NO_SUBSCRIPTION)
        name, value = [text_of(each, _NO_SUBSCRIPTION) for each in both]
        record.user = [*record.user, (name, value)]
    return record


def _passed(said: JsonFields) -> NameBits:
    if "passed" not in said.fields:  # a broker of 0.1.0 does not say
        return NameBits()
    try:
        return unpacked_names(said.binary("passed", 1, _MOST_PASSED))
    except ValueError:
        raise malformed("malformed names of messages") from None


def _brokers(said: JsonFields) -> list[str]:
    names = said.texts("passing", MOST_PASSING)
    if any("/" in name for name in names):
        raise malformed("a malformed name of a broker")
    return names


def _position(said: JsonFields) -> tuple[Point, float] | None:
    if "position" not in said.fields:
        return None
    found = said.items("position", 3)
    if len(found) != 3:
        raise malformed("a malformed position")
    lat = real_of(found[0], -90.0, 90.0, "a malformed position")
    lon = real_of(found[1], -360.0, 360.0, "a malformed position")
    return Point(lat, lon), real_of(found[2], 0.0, _LATEST, "a malformed position")
