"""The torturer's books notice each kind of broken promise."""

import pytest

from gossamer_lab.torture.churn import (
    EMPTY,
    GONE,
    SUBSCRIBED,
    RetainedTopic,
    State,
    _after_connect,
)
from gossamer_lab.torture.ledger import DeliveryLedger, MessageKey


def ledger_with(numbers: int) -> DeliveryLedger:
    ledger = DeliveryLedger(["sub"])
    for _ in range(numbers):
        ledger.note_acknowledged(ledger.next_key("stream"))
    return ledger


def test_everything_received_in_order_is_no_fault() -> None:
    ledger = ledger_with(3)
    for number in (1, 2, 3):
        ledger.note_received("sub", MessageKey("stream", number), 2)
    ledger.close()
    assert ledger.faults == []
    assert ledger.backlog == 0


def test_a_lost_message_is_a_fault() -> None:
    ledger = ledger_with(3)
    for number in (1, 3):
        ledger.note_received("sub", MessageKey("stream", number), 2)
    ledger.close()
    assert ["never got 1" in fault for fault in ledger.faults] == [True]


@pytest.mark.parametrize(("qos", "faults"), [(1, 0), (2, 1)])
def test_a_repeated_message_is_a_fault_at_qos_2_only(qos: int, faults: int) -> None:
    ledger = ledger_with(1)
    ledger.note_received("sub", MessageKey("stream", 1), qos)
    ledger.note_received("sub", MessageKey("stream", 1), qos)
    assert len(ledger.faults) == faults
    assert ledger.repeated == 1


def test_a_message_that_overtakes_is_a_fault() -> None:
    ledger = ledger_with(2)
    ledger.note_received("sub", MessageKey("stream", 2), 1)
    ledger.note_received("sub", MessageKey("stream", 1), 1)
    assert len(ledger.faults) == 1


def test_a_key_survives_its_payload() -> None:
    key = MessageKey("q1s0", 123)
    assert MessageKey.of(key.payload(100)) == key
    assert len(key.payload(100)) == 100


@pytest.mark.parametrize(("found", "faults"), [(3, 0), (4, 0), (2, 1), (0, 1)])
def test_only_a_possible_version_may_be_retained(found: int, faults: int) -> None:
    ledger = DeliveryLedger([])
    topic = RetainedTopic("mqtt://127.0.0.1:1", "t", ledger, 1)
    topic.possible = {3, 4}
    topic.check(found)
    assert len(ledger.faults) == faults


@pytest.mark.parametrize(
    ("before", "clean", "expiry", "after"),
    [
        (GONE, False, 60, EMPTY),
        (SUBSCRIBED, False, 60, SUBSCRIBED),
        (SUBSCRIBED, True, 60, EMPTY),
        (SUBSCRIBED, True, 0, GONE),
        (EMPTY, False, 0, GONE),
    ],
)
def test_what_a_connect_makes_of_a_session(
    before: State, clean: bool, expiry: int, after: State
) -> None:
    assert _after_connect(before, clean, expiry) == after
