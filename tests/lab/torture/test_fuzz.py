"""A bounded run of `torture fuzz`; and that it notices what it should."""

import pytest

from gossamer.broker.policy import Exchange, Origin
from gossamer_lab.torture.fuzz import fuzz as fuzzing
from gossamer_lab.torture.fuzz.fuzz import fuzz

INPUTS = 20_000


def test_nothing_that_is_sent_raises() -> None:
    seen: list[int] = []
    outcome = fuzz(INPUTS, 1, 0, seen.append)
    assert outcome.faults == []
    assert outcome.inputs == seen[-1] == INPUTS
    # It got somewhere: inside, to others, and into refusals.
    assert outcome.logins > INPUTS / 10
    assert outcome.delivered > INPUTS / 10
    assert outcome.refused > INPUTS / 10


def test_the_same_seed_is_the_same_run() -> None:
    one, two = (fuzz(1500, 7, 3, lambda done: None) for _ in range(2))
    assert (one.bytes, one.answers) == (two.bytes, two.answers)


@pytest.mark.faults
def test_a_broker_that_fails_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object, method: str, origin: Origin) -> Exchange | None:
        raise RuntimeError("an authenticator that fails")

    monkeypatch.setattr(fuzzing._Doorkeeper, "begin_exchange", fail)
    outcome = fuzz(5000, 1, 0, lambda done: None)
    assert outcome.faults
    assert "a packet" in outcome.faults[0]
    assert "round 0" in outcome.faults[0]
