"""A short torture: sessions follow their clients while real brokers are killed."""

import asyncio
from pathlib import Path

import pytest

from gossamer_lab.torture.roaming_kills import RoamingPlan, torture

pytestmark = pytest.mark.processes


def test_a_few_moves_break_no_promise(tmp_path: Path) -> None:
    seen: list[int] = []
    plan = RoamingPlan(moves=4, seed=5, rovers=2)
    outcome = asyncio.run(torture(plan, tmp_path, seen.append))
    assert outcome.faults == []
    assert seen[-1] == outcome.moves == 4
    assert sum(outcome.kills.values()) > 0
    assert outcome.acknowledged > 0
    assert outcome.received == (2 + 3) * outcome.acknowledged
