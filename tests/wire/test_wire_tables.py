"""The tables of the wire against the standard's own (tables 2-4 and 2-6 of MQTT 5.0)."""

import pytest

from gossamer.wire import reasons
from gossamer.wire.packets import AUTH, CONNACK, CONNECT, DISCONNECT, PINGREQ, PINGRESP, PUBLISH
from gossamer.wire.properties import Properties
from gossamer.wire.property_table import PROPERTY_TABLE, ROW_OF, ROWS_IN, WILL
from gossamer.wire.reason_table import LEGAL_REASONS, legal_reason


def test_each_property_is_one_attribute() -> None:
    names = [row.name for row in PROPERTY_TABLE]
    assert len(set(names)) == len(names) == 27
    fresh = Properties()
    for row in PROPERTY_TABLE:
        assert getattr(fresh, row.name) in (None, [])
        assert ROW_OF[row.identifier] is row


def test_rows_are_in_the_order_of_their_identifiers() -> None:
    identifiers = [row.identifier for row in PROPERTY_TABLE]
    assert identifiers == sorted(set(identifiers))


@pytest.mark.parametrize(
    ("kind", "count"), [(WILL, 7), (CONNECT, 9), (CONNACK, 17), (PUBLISH, 8), (AUTH, 4)]
)
def test_packets_carry_as_many_properties_as_the_standard_says(kind: int, count: int) -> None:
    assert len(ROWS_IN[kind]) == count


def test_a_pong_carries_nothing_and_a_ping_only_what_the_position_needs() -> None:
    assert ROWS_IN[PINGRESP] == []
    assert [row.name for row in ROWS_IN[PINGREQ]] == ["user"]


def test_every_legal_reason_has_a_name_and_every_name_is_legal_somewhere() -> None:
    named = {
        value for name, value in vars(reasons).items() if name.isupper() and isinstance(value, int)
    }
    legal = frozenset().union(*LEGAL_REASONS.values())
    assert legal == named


@pytest.mark.parametrize(
    ("kind", "meant", "said"),
    [
        (CONNACK, reasons.NOT_AUTHORIZED, reasons.NOT_AUTHORIZED),
        (CONNACK, reasons.SERVER_SHUTTING_DOWN, reasons.SERVER_UNAVAILABLE),
        (DISCONNECT, reasons.SERVER_SHUTTING_DOWN, reasons.SERVER_SHUTTING_DOWN),
        (DISCONNECT, reasons.BAD_USER_NAME_OR_PASSWORD, reasons.NOT_AUTHORIZED),
        (DISCONNECT, reasons.CLIENT_IDENTIFIER_NOT_VALID, reasons.UNSPECIFIED_ERROR),
    ],
)
def test_a_reason_that_is_not_legal_gives_way_to_the_nearest(
    kind: int, meant: int, said: int
) -> None:
    assert legal_reason(kind, meant) == said
