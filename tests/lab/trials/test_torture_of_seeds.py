"""`sim torture` runs exactly the seeds asked for and names every one that fails."""

import os
from pathlib import Path

import pytest
from _pytest.capture import CaptureFixture

from gossamer.cli.main import run
from gossamer_lab.cli.sim import show_failures
from gossamer_lab.trials.seed_runs import (
    ALL_MODES,
    Case,
    TrialReport,
    TrialVerdict,
    cases,
    judged,
    torture,
)

# Each of them broke a promise once, before there were bursts.
FOUND = (
    Case(1008, "mixed", True),  # waves of waves, without end
    Case(1012, "pf", True),  # had at the old broker, and again as a wave at the new one
    Case(1182, "bloom", True),  # had at the old broker, and again from the queue of a third
    Case(1230, "ssf", True),
    Case(1807, "auto", True),
    Case(1807, "ssf", True),
    Case(658, "mixed", True),  # a broker had forgotten in a crash that it waited for the session
    Case(957, "bloom", True),
    *(Case(*case, True) for case in ((36, "pf"), (47, "auto"), (10, "mixed"))),  # crossed twice
    Case(3058, "bloom", False),  # left to a neighbour that came back and went for good
    *(Case(106, mode, False) for mode in ALL_MODES),  # two cables that took turns for ever
    Case(1633, "bloom", False),  # the same, of two pairs
    Case(1866, "mixed", False),
    Case(1271, "auto", False),  # sent round to those who never were behind the link
    Case(1271, "ssf", False),
    Case(1453, "bloom", False),  # a wave went to neighbours that led to nobody it was for
    Case(101, "bloom", False),  # a broker on the way left for good with what it had not passed on
    *(Case(1333, mode, False) for mode in ALL_MODES),
    Case(1450, "pf", False),
    Case(2144, "mixed", False),  # sent round by the broker of a reader that subscribed meanwhile
    Case(2064, "sf", False),  # counted as sent round, though it was queued after that
)

# With bursts, since there are any.
FOUND_SINCE = (
    Case(39, "mixed", True),  # a broker two moves ago took messages for a filter that had ended
    Case(613, "mixed", True),  # what it had had by two subscriptions was forgotten in a crash
    # Passed on for one who was no member any more, and not given to the member beside it.
    *(Case(679, mode, True) for mode in ("pf", "bloom", "mixed")),
)


def content(case: Case) -> TrialVerdict:
    return TrialVerdict(case, [], receipts=case.seed, events=1)


def finds_fault(case: Case) -> TrialVerdict:
    return TrialVerdict(case, ["lost"] if case.seed == 3 and case.mode == "sf" else [])


def dies(case: Case) -> TrialVerdict:
    if case.seed == 2:
        os._exit(9)
    return TrialVerdict(case, [])


@pytest.mark.parametrize(
    "case", [case._replace(has_bursts=False) for case in FOUND], ids=Case.command
)
def test_seeds_that_failed_once(case: Case) -> None:
    assert judged(case).faults == []


@pytest.mark.parametrize("case", FOUND_SINCE, ids=Case.command)
def test_seeds_that_failed_with_bursts(case: Case) -> None:
    assert judged(case).faults == []


def test_each_seed_in_each_mode_once() -> None:
    wanted = list(cases(5, 3, ALL_MODES, False))
    assert len(set(wanted)) == len(wanted) == 3 * len(ALL_MODES)
    shown: list[int] = []
    report = torture(iter(wanted), 2, show=lambda r: shown.append(r.trials), trial=content)
    assert (report.trials, report.events, report.seeds) == (len(wanted), len(wanted), {5, 6, 7})
    assert report.receipts == (5 + 6 + 7) * len(ALL_MODES)
    assert shown[-1] == len(wanted)
    assert report.failures == []


def test_a_failure_does_not_end_the_run_and_is_named() -> None:
    report = torture(cases(1, 5, ("pf", "sf"), True), 1, trial=finds_fault)
    assert report.trials == 10
    assert [failure.case for failure in report.failures] == [Case(3, "sf", True)]
    command = report.failures[0].case.command()
    assert command == "gossamer sim torture --first 3 --seeds 1 --modes sf --roaming"
    without = report.failures[0].case._replace(has_bursts=False)
    assert without.command() == f"{command} --no-bursts"


def test_a_process_that_dies_is_a_failure_and_the_others_go_on() -> None:
    report = torture(cases(1, 8, ("pf",), False), 1, trial=dies)
    assert report.trials == 8
    assert 2 in {failure.case.seed for failure in report.failures}
    assert 8 not in {failure.case.seed for failure in report.failures}


def test_time_ends_a_run_without_an_end() -> None:
    assert torture(cases(1, None, ALL_MODES, False), 1, seconds=0.0).trials == 0


def test_every_failing_seed_is_shown_with_how_to_repeat_it(
    tmp_path: Path, capsys: CaptureFixture[str]
) -> None:
    failures = [TrialVerdict(Case(seed, "pf", False), [f"fault {seed}"]) for seed in range(4)]
    show_failures(failures, tmp_path)
    text = capsys.readouterr().err
    for failure in failures:
        assert failure.case.command() in text
        assert failure.faults[0] in text
    assert len(list(tmp_path.iterdir())) == 3


def test_the_command_prints_its_counts(capsys: CaptureFixture[str]) -> None:
    words = ["sim", "torture", "--first", "4", "--seeds", "2", "--modes", "pf, mixed"]
    assert run([*words, "--jobs", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2 seeds (4 to 5) in 2 modes (pf, mixed): 4 meshes, ")
    assert "0 failures" in lines[0]
    assert lines[1] == "every promise was kept"
    assert run([*words, "--jobs", "1", "--no-bursts"]) == 0
    assert ", without bursts: 4 meshes, " in capsys.readouterr().out
    assert run([*words, "--jobs", "1", "--compressed"]) == 0
    assert ", with compressed links: 4 meshes, " in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--modes", "fp"], ["--seeds", "0"]])
def test_what_makes_no_sense_is_refused(words: list[str]) -> None:
    assert run(["sim", "torture", *words]) == 2


def test_a_report_counts_seeds_not_trials() -> None:
    report = TrialReport()
    for mode in ("pf", "sf"):
        report.add(content(Case(1, mode, False)))
    assert (report.trials, report.seeds) == (2, {1})
