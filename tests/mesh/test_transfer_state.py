"""What a store keeps of a session on its way reads back, as earlier versions wrote it too."""

import pytest

from gossamer.mesh.roaming.departed import _MOST_NAMES, DepartedSession
from gossamer.mesh.roaming.transfer_state import (
    AGREEMENT,
    ARRIVING,
    HERE,
    MOVED,
    TAKEN,
    SeenNames,
    TransferState,
)
from gossamer.session.message import Message
from gossamer.session.message_names import NAME_BYTES
from gossamer.session.records import QUEUED, DeliveryRecord, SessionRecord
from gossamer.session.session import Session
from gossamer.storage.memory_journal import MemoryJournal
from tests.support.memory import World
from tests.support.meshes import Net


@pytest.mark.parametrize("state", [HERE, AGREEMENT, ARRIVING, MOVED, TAKEN])
@pytest.mark.parametrize("passing", [[], ["a", "c"]])
def test_a_state_reads_back(state: str, passing: list[str]) -> None:
    where = TransferState("")
    where.state = state
    where.broker = "" if state == HERE else "c"
    where.since = 12
    where.last = "00ff"
    where.number = 7
    where.passing = dict.fromkeys(passing or (["c"] if state in (AGREEMENT, ARRIVING) else []))
    again = TransferState(where.text())
    assert (again.state, again.broker, again.since) == (state, where.broker, 12)
    assert list(again.passing) == list(where.passing)
    assert again.text() == where.text()
    if where.is_away():
        assert (again.last, again.number) == ("00ff", 7)
    if state == ARRIVING:
        assert again.number == 7


def test_what_earlier_versions_wrote() -> None:
    away = TransferState("taken/b/12/00ff")
    assert (away.broker, away.since, away.last, away.number) == ("b", 12, "00ff", 0)
    assert not away.passing
    assert list(TransferState("settling/b/12").passing) == ["b"]


def test_what_is_done_with_twice_takes_no_other_name_s_place() -> None:
    """Two subscriptions, and one message at QoS 2 by each of them."""
    names = [bytes([number]) * NAME_BYTES for number in range(3)]
    journal = MemoryJournal()
    core = World(journal).broker.core
    session = Session(core.hub, SessionRecord("c", "", 1000))
    core.sessions["c"] = session
    journal.session_saved(session.record)
    kept = SeenNames(core)
    kept.watch(session)
    assert session.seen is not None
    for turn in (names, names[:1]):
        for name in turn:
            session.seen.done(name)
        kept.end_turn()
    journal.commit()
    rooms = journal.restarted().snapshot.rooms
    found = b"".join(run for room in rooms.values() for run in room.values())
    assert set(names) <= {
        found[start : start + NAME_BYTES] for start in range(0, len(found), NAME_BYTES)
    }


def delivery(name: bytes, share: str = "") -> DeliveryRecord:
    message = Message("t", b"", 2, False, None, 0.0, "", "").changed(name=name)
    return DeliveryRecord(1, message, 2, False, [], 0, QUEUED, share)


def test_a_message_is_passed_on_once() -> None:
    node = Net().node("a")
    session = Session(node.broker.core.hub, SessionRecord("c", "", 1000))
    departed = DepartedSession(node.mesh.roaming.departed_sessions, session, "b")
    name = b"n" * NAME_BYTES
    assert departed.passes_on(delivery(name))
    assert not departed.passes_on(delivery(b"w" * NAME_BYTES + name)), "a wave of the same"
    assert departed.passes_on(delivery(name, "$share/g/t")), "shared ones are for each who has them"
    for _ in range(2):
        assert departed.passes_on(delivery(b"")), "what has no name cannot be told apart"
    for number in range(2 * _MOST_NAMES):
        assert departed.passes_on(delivery(number.to_bytes(NAME_BYTES, "big")))
