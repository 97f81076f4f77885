"""Both stores, the same tests: what was committed comes back, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.session.records import DeliveryRecord, SessionRecord, SubscriptionRecord
from tests.support.store_driver import Driver
from tests.support.store_model import Model, a_message, snapshot_state
from tests.support.stores import MemoryUnderTest, SqliteUnderTest

UnderTest = MemoryUnderTest | SqliteUnderTest


@pytest.fixture(params=[MemoryUnderTest, SqliteUnderTest], ids=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[UnderTest]:
    opened: UnderTest = request.param(tmp_path)
    yield opened
    opened.close()


def delivery(number: int, message: object) -> DeliveryRecord:
    return DeliveryRecord(number, message, 1, False, [], 0, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [MemoryUnderTest, SqliteUnderTest])
@settings(max_examples=60)
@given(seed=st.integers(0, 1 << 32), batches=st.lists(st.integers(0, 25), max_size=12))
def test_any_history_reads_back_as_its_committed_part(
    tmp_path_factory: pytest.TempPathFactory,
    kind: type[UnderTest],
    seed: int,
    batches: list[int],
) -> None:
    store = kind(tmp_path_factory.mktemp("store"))
    model = Model()
    driver = Driver(seed, model)
    for size in batches:
        for _ in range(size):
            driver.step(store.journal)
        store.commit()
        committed = model.state()
        if driver.random.random() < 0.3:
            snapshot = store.reopen()
            assert snapshot_state(snapshot) == committed
            driver.reopened(snapshot, store.journal)
    committed = model.state()
    for _ in range(5):
        driver.step(store.journal)
    assert snapshot_state(store.reopen()) == committed
    store.close()


def test_a_number_that_is_given_twice_is_one_delivery(store: UnderTest) -> None:
    """As a neighbour may that hands a session over: a second row would outlive the session, and
    the store would count as damaged."""
    journal = store.journal
    journal.session_saved(SessionRecord("c", "u", 10))
    for text in ("first", "second"):
        journal.delivery_queued("c", delivery(7, a_message(text)))
        store.commit()
    (found,) = store.reopen().sessions[0].deliveries
    assert found.message is not None
    assert found.message.payload == a_message("second").payload
    store.journal.session_removed("c")
    store.commit()
    assert store.rows() == 0


def test_everything_removed_leaves_no_row(store: UnderTest) -> None:
    message = a_message(rich=True)
    record = SessionRecord("c", "u", 10)
    record.will = a_message("will")
    store.journal.session_saved(record)
    store.journal.subscription_saved("c", SubscriptionRecord("a/#", 1, False, False, 0, 0))
    store.journal.delivery_queued("c", delivery(1, message))
    store.journal.delivery_queued("c", delivery(2, message))
    store.journal.incoming_added("c", 9)
    retained = store.journal.retained_saved(message, 0)
    store.commit()
    store.journal.keep("room", "key", b"value")
    store.commit()
    assert store.rows() == 9  # the two deliveries and the retained one share a message
    store.journal.session_removed("c")
    store.commit()
    assert store.rows() == 3
    store.journal.retained_removed("a/b", retained)
    store.journal.drop("room", "key")
    store.commit()
    assert store.rows() == 0


def test_what_comes_and_goes_in_one_batch_is_never_written(store: UnderTest) -> None:
    store.journal.session_saved(SessionRecord("c", "u", 10))
    store.commit()
    for number in range(10):
        store.journal.delivery_queued("c", delivery(number, a_message()))
        store.journal.delivery_sent("c", number, number + 1)
        store.journal.delivery_removed("c", number)
    store.journal.session_saved(SessionRecord("short-lived", "u", 10))
    store.journal.session_removed("short-lived")
    assert store.journal.dirty
    assert len(store.journal.take()) == 0


def test_retained_twice_in_one_batch_is_written_once(store: UnderTest) -> None:
    first = store.journal.retained_saved(a_message(payload=b"1"), 0)
    store.journal.retained_saved(a_message(payload=b"2"), first)
    store.commit()
    assert store.rows() == 2
    assert [message.payload for message in store.reopen().retained] == [b"2"]


def test_a_message_numbered_by_another_store_is_stored_anew(store: UnderTest) -> None:
    foreign = a_message(payload=b"foreign")
    foreign.stored = 1
    store.journal.retained_saved(a_message("own", b"own"), 0)
    store.journal.retained_saved(foreign, 0)
    store.commit()
    assert {m.topic: m.payload for m in store.reopen().retained} == {
        "own": b"own",
        "a/b": b"foreign",
    }


def test_removing_what_is_not_there_is_nothing(store: UnderTest) -> None:
    journal = store.journal
    journal.session_removed("nobody")
    journal.subscription_removed("nobody", "a")
    journal.delivery_sent("nobody", 1, 1)
    journal.delivery_released("nobody", 1)
    journal.delivery_removed("nobody", 1)
    journal.incoming_removed("nobody", 1)
    journal.retained_removed("nothing", 0)
    assert not journal.dirty


def test_short_lived_clients_leave_nothing_behind(store: UnderTest) -> None:
    for number in range(3000):
        client = f"random-{number}"
        store.journal.session_saved(SessionRecord(client, "u", 1))
        store.journal.subscription_saved(client, SubscriptionRecord("a", 1, False, False, 0, 0))
        if number % 50 == 0:
            store.commit()
        store.journal.session_removed(client)
    store.commit()
    assert store.rows() == 0
    assert not store.journal._index.sessions
