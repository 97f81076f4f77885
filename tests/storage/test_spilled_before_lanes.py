"""What neighbours had spilled in a store of format 1 or 2 is in lanes since format 3."""

from gossamer.session.records import SessionRecord
from gossamer.storage.load import whole
from gossamer.storage.rows import Row, sealed, session_row, waiting_from
from gossamer.storage.salvage import Salvage
from gossamer.storage.schema import LANE, PLACES, SESSION, SPILL, WAITING
from gossamer.storage.upgrade import upgraded


def spilled(key: int, session: int, text: str) -> Row:
    return sealed((key, session, 1, 0, "t", text.encode(), 1, 0, None, 0.0, "writer", "anna"))


def a_store() -> Salvage:
    """Two neighbours' messages, by turns."""
    found = Salvage()
    for number in (1, 2):
        record = SessionRecord(f"$mesh/{number}", "$mesh", 100)
        found.rows[SESSION].append(session_row(number, record, None))
    for key in range(1, 11):
        found.rows[SPILL].append(spilled(key, key % 2 + 1, str(key)))
    return found


def test_each_session_gets_a_lane_in_the_order_of_coming() -> None:
    rows = upgraded(a_store().rows)
    assert rows[SPILL] == []
    assert len(rows[LANE]) == 2
    snapshot = whole(rows).snapshot
    for session, expected in zip(
        snapshot.sessions, (["2", "4", "6", "8", "10"], ["1", "3", "5", "7", "9"]), strict=True
    ):
        payloads = [d.message.payload.decode() for d in session.deliveries if d.message]
        assert payloads == expected
        assert [d.number for d in session.deliveries] == [1, 2, 3, 4, 5]
    places = {row[0] // PLACES for row in rows[WAITING]}
    assert places == {row[0] for row in rows[LANE]}
    assert all(waiting_from(row).place for row in rows[WAITING])


def test_taken_twice_it_changes_nothing() -> None:
    once = upgraded(a_store().rows)
    kept = {table: list(found) for table, found in once.items()}
    assert upgraded(once) == kept


def test_a_damaged_one_is_named_and_the_others_come() -> None:
    found = a_store()
    bad = found.rows[SPILL][3]
    found.rows[SPILL][3] = (*bad[:5], b"noise", *bad[6:])
    loaded = whole(upgraded(found.rows))
    assert loaded.problems == ["spill 4 is unreadable: its checksum is wrong"]
    assert sum(len(session.deliveries) for session in loaded.snapshot.sessions) == 9
