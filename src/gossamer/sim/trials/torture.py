"""Trial after trial until time is up or a promise is broken."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from gossamer.sim.trials.joint_plan import make_joint_plan
from gossamer.sim.trials.plan import make_plan
from gossamer.sim.trials.trial import Outcome, run_trial, shrunk


@dataclass
class Report:
    trials: int = 0
    receipts: int = 0
    events: int = 0
    seconds: float = 0.0
    failure: Outcome | None = None  # of the smallest plan found that fails


def torture(
    seconds: float, seed: int, mode: str, is_roaming: bool, show: Callable[[float], None]
) -> Report:
    """Seeds from `seed` on, one trial each."""
    make = make_joint_plan if is_roaming else make_plan
    report = Report()
    start = time.monotonic()
    while report.seconds < seconds and report.failure is None:
        outcome = run_trial(make(seed + report.trials, mode))
        report.trials += 1
        report.receipts += outcome.receipts
        report.events += outcome.events
        report.seconds = time.monotonic() - start
        show(report.seconds)
        if outcome.faults:
            report.failure = run_trial(shrunk(outcome.plan), keeps_trace=True)
    return report
