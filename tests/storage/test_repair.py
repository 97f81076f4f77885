"""Damaged files: found at start, looked at, mended and exported, always in bounded time."""

import io
import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.session.records import DeliveryRecord, SessionRecord, Snapshot, SubscriptionRecord
from gossamer.storage.export import export
from gossamer.storage.files import FILE_NAME, PAGE_BYTES, StoreDamaged, StoreError
from gossamer.storage.repair import check, fill, repair
from gossamer.storage.sqlite_store import SqliteStore
from tests.support.store_driver import Driver
from tests.support.store_model import Model, a_message, snapshot_state
from tests.support.stores import SqliteUnderTest, whole


def filled(folder: Path, messages: int = 300) -> Path:
    """A store of two sessions and many messages of 1,000 bytes."""
    store = SqliteUnderTest(folder)
    for client in ("anna", "ben"):
        store.journal.session_saved(SessionRecord(client, "u", 100))
        record = SubscriptionRecord(f"to/{client}", 1, False, False, 0, 0)
        store.journal.subscription_saved(client, record)
    for number in range(messages):
        message = a_message(f"topic/{number}", number.to_bytes(4, "big") * 250)
        store.journal.delivery_queued("anna", DeliveryRecord(number, message, 1, False, [], 0, 0))
        store.journal.retained_saved(message, 0)
    store.close()
    return folder / FILE_NAME


def overwrite(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def start(path: Path) -> Snapshot:
    store = SqliteStore(path.parent, "off")
    try:
        return whole(store)
    finally:
        store.close()


def place_of(path: Path, content: bytes) -> int:
    found = path.read_bytes().find(content)
    assert found > 0
    return found


def test_a_whole_store_checks_clean(tmp_path: Path) -> None:
    path = filled(tmp_path)
    report = check(path)
    assert report.problems == []
    assert (report.contents.sessions, report.contents.subscriptions) == (2, 2)
    assert (report.contents.deliveries, report.contents.retained) == (300, 300)


def test_start_refuses_and_says_the_way_out(tmp_path: Path) -> None:
    path = filled(tmp_path)
    overwrite(path, 0, b"\xff" * 100)
    with pytest.raises(StoreDamaged) as raised:
        start(path)
    for word in (str(path), "store check", "store repair", "store export"):
        assert word in str(raised.value)


def test_one_flipped_bit_in_a_payload_is_found(tmp_path: Path) -> None:
    path = filled(tmp_path)
    overwrite(path, place_of(path, (77).to_bytes(4, "big") * 250) + 500, b"\x01")
    with pytest.raises(StoreDamaged, match="checksum"):
        start(path)
    report = repair(path)
    assert report.contents.retained == report.contents.deliveries == 299
    assert report.kept.exists()
    snapshot = start(path)
    assert {m.topic for m in snapshot.retained} == {f"topic/{n}" for n in range(300)} - {"topic/77"}


def test_a_flipped_bit_in_a_client_id_loses_that_session_only(tmp_path: Path) -> None:
    path = filled(tmp_path)
    overwrite(path, place_of(path, b"anna"), b"b")
    report = repair(path)
    assert report.problems
    assert [session.record.client_id for session in start(path).sessions] == ["ben"]


def test_text_that_is_no_text_is_reported(tmp_path: Path) -> None:
    path = filled(tmp_path)
    overwrite(path, place_of(path, b"topic/5"), b"\xff\xfe")
    assert check(path).problems
    assert repair(path).contents.retained == 299


def test_every_lost_page_is_survived(tmp_path: Path) -> None:
    """Each page in turn becomes noise: start refuses or serves the truth, repair keeps the rest."""
    whole = filled(tmp_path / "whole", messages=60).read_bytes()
    truth = {message.topic: message.payload for message in start_of(tmp_path, whole).retained}
    noise = random.Random(5).randbytes(PAGE_BYTES)
    for page in range(len(whole) // PAGE_BYTES):
        folder = tmp_path / str(page)
        folder.mkdir()
        path = folder / FILE_NAME
        path.write_bytes(whole)
        overwrite(path, page * PAGE_BYTES, noise)
        with pytest.raises(StoreDamaged):
            start(path)
        assert check(path).problems
        report = repair(path)
        assert report.problems or page == 0
        for message in start(path).retained:
            assert truth[message.topic] == message.payload
        if page == 0:
            assert report.contents.retained == len(truth)


def start_of(folder: Path, content: bytes) -> Snapshot:
    (folder / FILE_NAME).write_bytes(content)
    return start(folder / FILE_NAME)


def test_random_damage_never_hangs_repair(tmp_path: Path) -> None:
    whole = filled(tmp_path / "whole", messages=120).read_bytes()
    for seed in range(20):
        chance = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        path = folder / FILE_NAME
        path.write_bytes(whole)
        for _ in range(30):
            overwrite(path, chance.randrange(len(whole) - 40), chance.randbytes(40))
        try:
            repair(path)
        except StoreError:
            continue
        start(path)


def test_a_file_cut_short_keeps_its_beginning(tmp_path: Path) -> None:
    path = filled(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2 // PAGE_BYTES * PAGE_BYTES])
    with pytest.raises(StoreDamaged):
        start(path)
    report = repair(path)
    assert 0 < report.contents.retained < 300
    assert len(start(path).retained) == report.contents.retained


def test_a_dangling_reference_is_damage(tmp_path: Path) -> None:
    path = filled(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM message WHERE topic = 'topic/8'")
        connection.commit()
    with pytest.raises(StoreDamaged, match="is missing"):
        start(path)


def test_a_message_that_nobody_wants_is_deleted_at_start(tmp_path: Path) -> None:
    path = filled(tmp_path, messages=3)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM delivery")
        connection.execute("DELETE FROM retained WHERE message > 1")
        connection.commit()
    assert len(start(path).retained) == 1
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM message").fetchone() == (1,)


def test_repair_of_a_whole_store_changes_nothing(tmp_path: Path) -> None:
    model = Model()
    driver = Driver(9, model)
    store = SqliteUnderTest(tmp_path)
    for _ in range(200):
        driver.step(store.journal)
    store.close()
    path = tmp_path / FILE_NAME
    assert repair(path).problems == []
    assert snapshot_state(start(path)) == model.state()


def test_two_repairs_keep_both_damaged_files(tmp_path: Path) -> None:
    path = filled(tmp_path, messages=1)
    assert repair(path).kept != repair(path).kept


def test_fill_makes_the_same_store(tmp_path: Path) -> None:
    path = filled(tmp_path / "one", messages=5)
    snapshot = start(path)
    (tmp_path / "two").mkdir()
    fill(tmp_path / "two" / FILE_NAME, snapshot)
    assert snapshot_state(start(tmp_path / "two" / FILE_NAME)) == snapshot_state(snapshot)


def test_export_writes_what_can_be_read(tmp_path: Path) -> None:
    path = filled(tmp_path, messages=10)
    overwrite(path, place_of(path, (4).to_bytes(4, "big") * 250) + 500, b"\x01")
    target = io.StringIO()
    assert export(path, target)
    lines = [json.loads(line) for line in target.getvalue().splitlines()]
    kinds = [line["kind"] for line in lines]
    assert (kinds.count("session"), kinds.count("delivery"), kinds.count("retained")) == (2, 9, 9)
    assert kinds.count("problem") == 3
    anna = next(line for line in lines if line.get("client_id") == "anna")
    assert anna["subscriptions"][0]["filter"] == "to/anna"
