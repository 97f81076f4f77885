"""Hypothesis strategies for every packet that a version allows, built from the wire's tables."""

from typing import Any

from hypothesis import strategies as st

from gossamer.wire.packets import (
    AUTH,
    CONNACK,
    CONNECT,
    DISCONNECT,
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREC,
    PUBREL,
    SUBACK,
    SUBSCRIBE,
    UNSUBACK,
    UNSUBSCRIBE,
    V5,
    V311,
    Acknowledgement,
    Auth,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Pingreq,
    Pingresp,
    Publish,
    Request,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
    Will,
)
from gossamer.wire.properties import Properties
from gossamer.wire.property_table import (
    BINARY,
    ROWS_IN,
    TEXT,
    TEXT_PAIR,
    VARINT,
    WILL,
    PropertyRow,
)
from gossamer.wire.reason_table import (
    LEGAL_REASONS,
    V311_CONNACK_MEANING,
    V311_SUBACK_REASONS,
)

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
topics = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0+#"), min_size=1, max_size=20
)
payloads = st.binary(max_size=300)
packet_ids = st.integers(1, 65_535)
qualities = st.integers(0, 2)


def _value(row: PropertyRow, kind: int) -> st.SearchStrategy[Any]:
    numbers = st.integers(row.minimum, row.maximum)
    if row.name == "response_topic":
        return topics
    if row.type == TEXT:
        return texts
    if row.type == BINARY:
        return st.binary(max_size=20)
    if row.type == TEXT_PAIR:
        return st.lists(st.tuples(texts, texts), max_size=3)
    if row.type == VARINT:
        return st.lists(numbers, max_size=3 if kind in row.repeatable_in else 1)
    return numbers


@st.composite
def property_sets(draw: st.DrawFn, kind: int, version: int = V5) -> Properties | None:
    """None in 3.1.1 and sometimes in 5.0; else any of what a packet of that kind may carry."""
    if version != V5 or draw(st.booleans()):
        return None
    made = Properties()
    for row in draw(st.lists(st.sampled_from(ROWS_IN[kind]), unique=True, max_size=6)):
        setattr(made, row.name, draw(_value(row, kind)))
    if made.authentication_data is not None and made.authentication_method is None:
        made.authentication_method = draw(texts)
    return made


@st.composite
def wills(draw: st.DrawFn, version: int) -> Will:
    return Will(
        draw(topics),
        draw(payloads),
        draw(qualities),
        draw(st.booleans()),
        draw(property_sets(WILL, version)),
    )


@st.composite
def connects(draw: st.DrawFn, version: int) -> Connect:
    username = draw(st.none() | texts)
    may_have_password = version == V5 or username is not None
    return Connect(
        draw(texts),
        version,
        draw(st.booleans()),
        draw(st.integers(0, 65_535)),
        username,
        draw(st.none() | payloads) if may_have_password else None,
        draw(st.none() | wills(version)),
        draw(property_sets(CONNECT, version)),
    )


@st.composite
def publishes(draw: st.DrawFn, version: int) -> Publish:
    qos = draw(qualities)
    return Publish(
        draw(topics),
        draw(payloads),
        qos,
        draw(st.booleans()),
        draw(st.booleans()) if qos else False,
        draw(packet_ids) if qos else 0,
        draw(property_sets(PUBLISH, version)),
    )


@st.composite
def requests(draw: st.DrawFn, version: int) -> Request:
    filter = draw(texts.filter(lambda text: not text.startswith("$share/")))
    if version == V311:
        return Request(filter, draw(qualities))
    flags = st.booleans()
    return Request(filter, draw(qualities), draw(flags), draw(flags), draw(qualities))


def _reasons(kind: int, version: int) -> st.SearchStrategy[int]:
    if version == V5:
        return st.sampled_from(sorted(LEGAL_REASONS[kind]))
    if kind == CONNACK:
        return st.sampled_from(V311_CONNACK_MEANING)
    if kind == SUBACK:
        return st.sampled_from(sorted(V311_SUBACK_REASONS))
    return st.just(0)


@st.composite
def connacks(draw: st.DrawFn, version: int) -> Connack:
    reason = draw(_reasons(CONNACK, version))
    present = reason == 0 and draw(st.booleans())
    return Connack(present, reason, draw(property_sets(CONNACK, version)))


def packets(version: int) -> st.SearchStrategy[Packet]:
    """Any packet of the version, in either direction."""

    def carried(kind: int) -> st.SearchStrategy[Properties | None]:
        return property_sets(kind, version)

    def reasons(kind: int) -> st.SearchStrategy[list[int]]:
        return st.lists(_reasons(kind, version), min_size=1, max_size=4)

    choices: list[st.SearchStrategy[Packet]] = [
        connects(version),
        connacks(version),
        publishes(version),
        st.builds(
            Subscribe,
            packet_ids,
            st.lists(requests(version), min_size=1, max_size=4),
            carried(SUBSCRIBE),
        ),
        st.builds(Suback, packet_ids, reasons(SUBACK), carried(SUBACK)),
        st.builds(
            Unsubscribe,
            packet_ids,
            st.lists(texts, min_size=1, max_size=4),
            carried(UNSUBSCRIBE),
        ),
        st.builds(
            Unsuback,
            packet_ids,
            reasons(UNSUBACK) if version == V5 else st.just([]),
            carried(UNSUBACK),
        ),
        st.builds(Pingreq),
        st.builds(Pingresp),
        st.builds(Disconnect, _reasons(DISCONNECT, version), carried(DISCONNECT)),
    ]
    for kind in (PUBACK, PUBREC, PUBREL, PUBCOMP):
        answer = st.builds(
            Acknowledgement, st.just(kind), packet_ids, _reasons(kind, version), carried(kind)
        )
        choices.append(answer)
    if version == V5:
        choices.append(st.builds(Auth, _reasons(AUTH, version), carried(AUTH)))
    return st.one_of(choices)
