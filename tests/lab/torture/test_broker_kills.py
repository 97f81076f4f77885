"""A short torture: a real broker, killed a few times, keeps every promise."""

import asyncio
from pathlib import Path

from gossamer_lab.torture.broker_kills import KillPlan, torture


def test_a_few_kills_break_no_promise(tmp_path: Path) -> None:
    seen: list[int] = []
    plan = KillPlan(kills=4, seed=7, streams=1, subscribers=2, sessions=2, topics=2)
    outcome = asyncio.run(torture(plan, tmp_path / "data", seen.append))
    assert outcome.faults == []
    assert seen == [1, 2, 3, 4]
    assert outcome.kills == 4
    assert outcome.acknowledged > 0
    assert outcome.received == 2 * outcome.acknowledged
