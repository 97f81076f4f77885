"""What is in flight from a lane: its packet identifiers, whatever their order, and what may go."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.session.message_bytes import stored_bytes
from gossamer.session.records import QUEUED, SENT, DeliveryRecord, SessionRecord
from gossamer.storage.lane_inflight import MOST_RUNS, LaneInflight
from gossamer.storage.repair import check
from gossamer.storage.rows import UnreadableRow
from gossamer.storage.schema import FORMAT
from tests.support.polling import eventually
from tests.support.store_model import a_message
from tests.support.stores import SqliteUnderTest


def read_back(store: SqliteUnderTest) -> list[DeliveryRecord]:
    return eventually(lambda: store.journal.unspill("c"))


def test_the_lane_is_cut_up_to_the_first_that_is_in_flight() -> None:
    flight = LaneInflight()
    for place in range(1, 6):
        assert flight.take(place, place + 10)
    assert list(flight.runs) == [(1, 11)]
    assert flight.leave(2) == 0
    assert flight.leave(1) == 2
    assert flight.leave(5) == 0
    assert flight.leave(3) == 3
    assert len(flight) == 1
    assert flight.leave(4) == 5
    assert not flight
    assert not flight.runs


def test_runs_that_have_left_are_forgotten() -> None:
    flight = LaneInflight()
    for place in range(1, 10_000):
        assert flight.take(place, place * 7 % 65_535 + 1)
        if place > 10:
            assert flight.leave(place - 10) == place - 10
        assert len(flight.runs) <= 11


def test_an_identifier_that_cannot_be_is_damage() -> None:
    flight = LaneInflight(20, [(5, 65_530)])
    assert flight.packet_id(10) == 65_535
    for place in (4, 11):
        with pytest.raises(UnreadableRow):
            flight.packet_id(place)


@pytest.mark.parametrize("step", [1, 2])
def test_identifiers_in_any_order_are_known_after_a_restart(tmp_path: Path, step: int) -> None:
    """With a gap after each there are more runs than a lane may have."""
    count = MOST_RUNS * 3
    store = SqliteUnderTest(tmp_path)
    store.journal.session_saved(SessionRecord("c", "", 1000))
    for number in range(1, count + 11):
        record = DeliveryRecord(number, a_message(), 1, False, [], 0, QUEUED)
        record.size = stored_bytes(a_message())
        store.journal.delivery_spilled("c", record)
    store.commit()
    records = read_back(store)
    expected = {}
    for record in records[:count]:
        record.packet_id = record.number * step
        record.state = SENT
        expected[record.number] = record.packet_id
        store.journal.spilled_taken("c", record)
    for number in random.Random(step).sample(range(1, count + 1), count // 2):
        store.journal.delivery_removed("c", number)
        del expected[number]
    store.commit()
    (stored,) = store.reopen().sessions
    assert {each.number: each.packet_id for each in stored.deliveries if each.packet_id} == expected
    assert stored.spilled == 10
    for number in expected:
        store.journal.delivery_removed("c", number)
    records = read_back(store)
    assert [each.number for each in records] == list(range(count + 1, count + 11))
    for record in records:
        store.journal.spilled_removed("c", record, True)
    store.commit()
    (stored,) = store.reopen().sessions
    assert (stored.deliveries, stored.spilled) == ([], 0)
    assert store.rows() == 1
    store.close()


def test_a_lane_of_format_3_is_read(tmp_path: Path) -> None:
    store = SqliteUnderTest(tmp_path)
    path = store.store.path
    store.journal.session_saved(SessionRecord("c", "", 1000))
    for number in range(1, 21):
        record = DeliveryRecord(number, a_message(), 1, False, [], 0, QUEUED)
        record.size = stored_bytes(a_message())
        store.journal.delivery_spilled("c", record)
    store.commit()
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE flight")
        connection.execute("PRAGMA user_version = 3")
    report = check(path)
    assert (report.problems, report.contents.deliveries) == ([], 20)
    store = SqliteUnderTest(tmp_path)
    assert store.store._connection.execute("PRAGMA user_version").fetchone() == (FORMAT,)
    records = read_back(store)
    for record in records:
        record.packet_id = record.number
        store.journal.spilled_taken("c", record)
    store.commit()
    (stored,) = store.reopen().sessions
    assert [each.packet_id for each in stored.deliveries] == list(range(1, 21))
    store.close()
    assert check(path).problems == []
    assert check(path).contents.deliveries == 20
