"""Trial after trial on several processes: exactly the seeds asked for, each in every mode.

A seed in a mode is a case. A case that breaks a promise, raises, or takes its process down is a
failure with its seed; the others go on, so that one run names every failing seed.
"""

import logging
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import count
from multiprocessing import get_context
from typing import Final, NamedTuple

from gossamer.mesh.settings import MODES
from gossamer_lab.trials.operator_plan import with_operators
from gossamer_lab.trials.plan import TrialPlan, make_plan, make_roaming_plan
from gossamer_lab.trials.trial import run_trial
from gossamer_lab.trials.window_plan import with_windows

# Besides the modes there is the mode that a seed chooses, with changes in the middle of trouble.
MIXED: Final = "mixed"
ALL_MODES: Final = (*MODES, MIXED)

# Cases handed to a process before its last is done, so that it never waits for the next.
_AHEAD: Final = 2


class Case(NamedTuple):
    """One trial."""

    seed: int
    mode: str
    is_roaming: bool
    has_bursts: bool = True
    has_operators: bool = False
    is_compressed: bool = False

    def plan(self) -> TrialPlan:
        make = make_roaming_plan if self.is_roaming else make_plan
        plan = make(self.seed, "" if self.mode == MIXED else self.mode, self.has_bursts)
        plan.is_compressed = self.is_compressed
        return with_windows(with_operators(plan)) if self.has_operators else plan

    def command(self) -> str:
        """What repeats it."""
        roaming = " --roaming" if self.is_roaming else ""
        kind = roaming + ("" if self.has_bursts else " --no-bursts")
        kind += " --operators" if self.has_operators else ""
        kind += " --compressed" if self.is_compressed else ""
        return f"gossamer sim torture --first {self.seed} --seeds 1 --modes {self.mode}{kind}"


# Sessions and subscriptions lead to each other until the session ends, and the collector does not
# see them. A trial drops its brokers as they stand, about a megabyte: a process ends before that
# is much.
_CASES_A_PROCESS = 200


@dataclass
class TrialVerdict:
    case: Case
    faults: list[str]
    receipts: int = 0
    events: int = 0


@dataclass
class TrialReport:
    """What was tried; `seeds` and `trials` are of cases that came to an end."""

    trials: int = 0
    receipts: int = 0
    events: int = 0
    seconds: float = 0.0
    seeds: set[int] = field(default_factory=set)
    failures: list[TrialVerdict] = field(default_factory=list)

    def add(self, verdict: TrialVerdict) -> None:
        self.trials += 1
        self.seeds.add(verdict.case.seed)
        self.receipts += verdict.receipts
        self.events += verdict.events
        if verdict.faults:
            self.failures.append(verdict)


def cases(
    first: int,
    seeds: int | None,
    modes: Sequence[str],
    is_roaming: bool,
    has_bursts: bool = True,
    has_operators: bool = False,
    is_compressed: bool = False,
) -> Iterator[Case]:
    """Seed by seed; without an end where `seeds` is None."""
    for seed in count(first) if seeds is None else range(first, first + seeds):
        for mode in modes:
            yield Case(seed, mode, is_roaming, has_bursts, has_operators, is_compressed)


def torture(
    wanted: Iterator[Case],
    jobs: int,
    seconds: float | None = None,
    show: Callable[[TrialReport], None] = lambda report: None,
    trial: Callable[[Case], TrialVerdict] | None = None,
) -> TrialReport:
    """Every case; no further ones are begun after `seconds`, if that is given."""
    report = TrialReport()
    judge = trial or judged
    start = time.monotonic()
    pool = _pool(jobs)
    under_way: dict[Future[TrialVerdict], Case] = {}
    try:
        while True:
            while len(under_way) < jobs * _AHEAD and not _is_over(start, seconds):
                case = next(wanted, None)
                if case is None:
                    break
                under_way[pool.submit(judge, case)] = case
            if not under_way:
                break
            done, _ = wait(under_way, return_when=FIRST_COMPLETED)
            try:
                for future in done:
                    report.add(future.result())
                    del under_way[future]
            except BrokenProcessPool:
                for case in _not_answered(under_way, report):
                    report.add(
                        TrialVerdict(case, ["a process that ran this seed, or one beside it, died"])
                    )
                under_way.clear()
                pool.shutdown()
                pool = _pool(jobs)
            report.seconds = time.monotonic() - start
            show(report)
    finally:
        pool.shutdown(cancel_futures=True)
    report.failures.sort(key=lambda verdict: verdict.case)
    return report


def judged(case: Case) -> TrialVerdict:
    """One case in this process. Whatever is raised in it is a fault of that case alone."""
    try:
        outcome = run_trial(case.plan())
    except Exception:
        return TrialVerdict(case, ["it raised: " + traceback.format_exc().strip()])
    return TrialVerdict(case, outcome.faults, outcome.receipts, outcome.events)


def _pool(jobs: int) -> ProcessPoolExecutor:
    # Not forked: this process may have threads, a progress bar's for one.
    return ProcessPoolExecutor(
        jobs, get_context("spawn"), _be_quiet, max_tasks_per_child=_CASES_A_PROCESS
    )


def _be_quiet() -> None:
    """What brokers log of cut links is what the trial does to them."""
    logging.disable(logging.CRITICAL)


def _is_over(start: float, seconds: float | None) -> bool:
    return seconds is not None and time.monotonic() - start >= seconds


def _not_answered(under_way: dict[Future[TrialVerdict], Case], report: TrialReport) -> list[Case]:
    """The cases that the dead pool owes; what it had answered before is counted."""
    owed: list[Case] = []
    for future, case in under_way.items():
        if future.done() and not future.cancelled() and future.exception() is None:
            report.add(future.result())
        else:
            owed.append(case)
    return owed
