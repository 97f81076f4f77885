"""A session on its way from one broker to another, as errands: its head, its messages, its end.

    head   subscriptions, expiry, what the client has not released yet, and, if it came from another
           broker shortly before, what it has had since; where its client was last seen
    item   one message that waits or is in flight, with its place and state
    end    that was all
    late   one that came to the old broker afterwards

All travel at QoS 2 and in order. The broker that gives a session away does so in the transaction
that puts the errands into the queue of a link; from then on they are the session.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Final

from gossamer.geo.earth import Point
from gossamer.mesh.relay.errands import NO_MESSAGE, Errand, Fields
from gossamer.session.message import Message
from gossamer.session.records import DeliveryRecord, SessionRecord, SubscriptionRecord
from gossamer.session.session import Session
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

HEAD: Final = "head"
ITEM: Final = "item"
END: Final = "end"
LATE: Final = "late"

_RECORD_FIELDS: Final = ("filter", "qos", "no_local", "rap", "handling", "identifier", "user")


def head_errand(
    session: Session,
    to: str,
    source: str,
    since: int,
    incoming: list[int],
    seen_at: tuple[Point, float] | None,
) -> Errand:
    """`seen_at` is where its client was last, if it says such things, and when."""
    record = session.record
    content: dict[str, object] = {
        "user": record.user,
        "expiry": record.expiry,
        "is_311": record.is_311,
        "number": session.last_number(),
        "incoming": incoming,
        "seen": "" if session.seen is None else session.seen.names().hex(),
        "subscriptions": [_listed(each.record) for each in session.subscriptions.values()],
    }
    if seen_at is not None:
        point, at = seen_at
        content["position"] = [point.lat, point.lon, at]
    carried = Message("", json.dumps(content).encode(), 0, False, None, 0.0, "", "")
    fields: Fields = {"client": session.client_id, "source": source, "since": since}
    return Errand(HEAD, to, fields, carried)


def item_errand(
    kind: str, source: str, client_id: str, to: str, delivery: DeliveryRecord
) -> Errand:
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
    return Errand(kind, to, fields, NO_MESSAGE if message is None else message)


def end_errand(source: str, client_id: str, to: str) -> Errand:
    return Errand(END, to, {"client": client_id, "source": source}, NO_MESSAGE)


def delivery_of(errand: Errand) -> DeliveryRecord:
    """What `item_errand` packed."""
    message = errand.message
    message.name = _name(errand.text("name"))
    message.publisher = errand.text("publisher")
    message.user = errand.text("by")
    identifiers = errand.fields.get("identifiers")
    if not isinstance(identifiers, list) or not all(isinstance(i, int) for i in identifiers):
        raise _malformed()
    qos = errand.number("granted")
    state = errand.number("state")
    packet_id = errand.number("packet")
    if not 0 <= qos <= 2 or not 0 <= state <= 2 or not 0 <= packet_id <= 65_535:
        raise _malformed()
    return DeliveryRecord(
        errand.number("number"),
        None if errand.fields.get("empty") is True else message,
        qos,
        errand.fields.get("kept") is True,
        [int(each) for each in identifiers],
        packet_id,
        state,
        errand.text("share"),
    )


class Head:
    """What a head says."""

    __slots__ = (
        "incoming",
        "number",
        "record",
        "seen",
        "seen_at",
        "since",
        "source",
        "subscriptions",
    )

    def __init__(self, errand: Errand) -> None:
        try:
            content = json.loads(errand.message.payload)
            record = SessionRecord(
                errand.text("client"), str(content["user"]), int(content["expiry"])
            )
            record.is_311 = bool(content["is_311"])
            self.number = int(content["number"])
            self.incoming = [int(each) for each in content["incoming"]]
            self.seen = bytes.fromhex(content["seen"])
            self.subscriptions = [_subscription(each) for each in content["subscriptions"]]
            self.seen_at = _position(content.get("position"))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise _malformed() from None
        self.record = record
        self.source = errand.text("source")
        self.since = errand.number("since")


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


def _subscription(listed: list[object]) -> SubscriptionRecord:
    fields = dict(zip(_RECORD_FIELDS, listed, strict=True))
    numbers = [fields["qos"], fields["handling"], fields["identifier"]]
    if not all(isinstance(each, int) for each in numbers):
        raise _malformed()
    qos, handling, identifier = (each for each in numbers if isinstance(each, int))
    record = SubscriptionRecord(
        str(fields["filter"]),
        qos,
        fields["no_local"] is True,
        fields["rap"] is True,
        handling,
        identifier,
    )
    user = fields["user"]
    if isinstance(user, list):
        record.user = [(str(pair[0]), str(pair[1])) for pair in user]
    return record


def _position(said: object) -> tuple[Point, float] | None:
    """ValueError if it is none."""
    if said is None:
        return None
    if not isinstance(said, list) or len(said) != 3:
        raise ValueError
    lat, lon, at = (float(each) for each in said)
    if not (-90.0 <= lat <= 90.0 and -360.0 <= lon <= 360.0 and isfinite(at)):
        raise ValueError
    return Point(lat, lon), at


def _name(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise _malformed() from None


def _malformed() -> ProtocolError:
    return ProtocolError(reasons.MALFORMED_PACKET, "a neighbour sent a session that is none")
