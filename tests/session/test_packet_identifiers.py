"""The packet identifiers of one session: as long as one is not in use it is found, however those in
use are remembered."""

import pytest

from gossamer.session.counters import Counters
from gossamer.session.hub import Hub
from gossamer.session.journal import Journal
from gossamer.session.message import Message
from gossamer.session.outbox import LAST_IDENTIFIER, Outbox
from gossamer.session.records import SENT, SessionRecord
from gossamer.session.session import Session
from gossamer.session.sink import Sink

SHARED = "g"  # remembered with its message
OWN = ""  # remembered by number


class Nowhere(Sink):
    def write(self, data: bytes) -> None:
        pass


def connected() -> Session:
    hub = Hub(Journal(), Counters())
    session = Session(hub, SessionRecord("c", "", 0))
    session.outbox = Outbox(hub, Nowhere(), 4, 1)
    return session


def receive(session: Session, share: str, count: int) -> None:
    message = Message("t", b"", 1, False, None, 0.0, "p", "")
    for _ in range(count):
        session.enqueue(message, 1, False, [], share, 0.0)


def in_flight(session: Session) -> set[int]:
    return {number for number in range(1, LAST_IDENTIFIER + 1) if session.is_in_flight(number)}


@pytest.mark.parametrize(
    "parts",
    [
        ((SHARED, 40_000), (OWN, 31), (SHARED, 25_504)),
        ((OWN, 31), (SHARED, 65_504)),
        ((SHARED, 65_000), (OWN, 535)),
        ((OWN, 20), (SHARED, 33_000), (OWN, 32_515)),
        ((SHARED, 1), (OWN, 65_534)),
    ],
)
def test_every_identifier_may_be_in_use(parts: tuple[tuple[str, int], ...]) -> None:
    session = connected()
    for share, count in parts:
        receive(session, share, count)
    assert session.in_flight() == session.window == LAST_IDENTIFIER
    assert len(in_flight(session)) == LAST_IDENTIFIER
    for number in (1, 40_010, 54_321, LAST_IDENTIFIER):  # and the one that becomes free is used
        for share in (SHARED, OWN):
            assert session.acknowledged(number, 1, SENT, 0.0)
            assert not session.is_in_flight(number)
            receive(session, share, 1)
            assert session.is_in_flight(number)
    receive(session, OWN, 1)
    assert session.queued() == 1
