"""Random histories with crashes anywhere: nothing acknowledged is lost, QoS 2 is exactly once."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.crash_history import CrashHistory


@settings(max_examples=60)
@given(seed=st.integers(0, 1 << 32))
def test_no_history_breaks_a_promise(seed: int) -> None:
    history = CrashHistory(seed)
    for _ in range(600):
        history.step()
    history.settle()
    history.ledger.close()
    assert history.ledger.faults == []
    assert history.ledger.backlog == 0
    assert history.ledger.all_acknowledged == history.ledger.all_sent
    snapshot = history.world.journal.restarted().snapshot
    assert [session.deliveries for session in snapshot.sessions] == [[]] * 4
