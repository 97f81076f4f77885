"""`gossamer sim`: the brokers that ship on a virtual network, measured, or searched for faults."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.progress import Progress

from gossamer.cli.errors import CommandError, WrongUse
from gossamer.cli.progress import Advance
from gossamer.mesh.settings import MODES
from gossamer_lab.scenarios.measures import Measures, measure, save
from gossamer_lab.scenarios.scenario import Scenario, ScenarioResult
from gossamer_lab.scenarios.workload import ScenarioSettings
from gossamer_lab.tables import records, table
from gossamer_lab.trials.plan import read_plan
from gossamer_lab.trials.seed_runs import ALL_MODES, TrialReport, TrialVerdict, cases
from gossamer_lab.trials.seed_runs import torture as run_torture
from gossamer_lab.trials.trial import run_trial, shrunk

_DEFAULTS = ScenarioSettings()
_BUSIEST: Final = 5
SECONDS: Final = {
    "second": "{.second}",
    "publications": "{.publications:,.1f}",
    "subscriptions": "{.interests:,.1f}",
    "bytes": "{.bytes:,.0f}",
    "queue": "{.queue:,.1f}",
    "longest queue": "{.longest_queue:,}",
}
LINKS: Final = {
    "from": "b{.sender}",
    "to": "b{.receiver}",
    "publications": "{.publications:,}",
    "subscriptions": "{.interests:,}",
    "bytes": "{.bytes:,}",
}
_DEFAULT_MINUTES: Final = 1.0
_MOST_SHOWN: Final = 20
# A plan is made smaller by hundreds of trials: enough of them to understand, not one for each seed.
_MOST_SHRUNK: Final = 3


def sim(
    context: typer.Context,
    brokers: Annotated[int, typer.Option(min=2, help="Brokers in the mesh.")] = _DEFAULTS.brokers,
    subscribers: Annotated[
        int, typer.Option(min=1, help="In total, over all brokers.")
    ] = _DEFAULTS.subscribers,
    publishers: Annotated[
        int, typer.Option(min=1, help="In total, over all brokers.")
    ] = _DEFAULTS.publishers,
    mode: Annotated[str, typer.Option(help=f"One of {', '.join(MODES)}.")] = _DEFAULTS.mode,
    alpha: Annotated[
        float, typer.Option(min=0, max=1, help="Share of filters with a +.")
    ] = _DEFAULTS.alpha,
    seed: Annotated[int, typer.Option(help="Random seed.")] = _DEFAULTS.seed,
    seconds: Annotated[
        float, typer.Option(min=1, help="Seconds that clients publish for.")
    ] = _DEFAULTS.seconds,
    payload: Annotated[
        int, typer.Option(min=16, help="Payload size in bytes.")
    ] = _DEFAULTS.payload,
    settled: Annotated[
        bool, typer.Option("--settled", help="Publish only when all subscriptions are known.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the results (Parquet).")] = None,
) -> None:
    """Simulate a mesh: the real broker code on a virtual network."""
    if context.invoked_subcommand is not None:
        return
    if mode not in MODES:
        raise WrongUse(f"--mode must be one of {', '.join(MODES)}, not {mode!r}")
    settings = ScenarioSettings(
        brokers,
        subscribers,
        publishers,
        mode,
        alpha,
        seed=seed,
        seconds=seconds,
        payload=payload,
        settled=settled,
    )
    with Progress() as progress:
        bar = progress.add_task("building", total=1.0)
        result = Scenario(settings).run(
            lambda part, what: progress.update(bar, completed=part, description=what)
        )
    show_result(result, Console())
    if out is not None:
        save(result, out)
        typer.echo(f"results are in {out}")


def show_result(result: ScenarioResult, console: Console) -> None:
    settings, measures = result.settings, measure(result)
    console.print(
        table(
            f"{settings.mode}, α={settings.alpha}, seed {settings.seed}",
            ("measure", "value"),
            _totals(result, measures),
        )
    )
    console.print(records("a broker on average, by second", SECONDS, measures.output, left=0))
    busiest = sorted(result.links, key=lambda link: -link.bytes)[:_BUSIEST]
    console.print(records("the busiest links", LINKS, busiest, left=0))


def _totals(result: ScenarioResult, measures: Measures) -> tuple[tuple[str, str], ...]:
    return (
        ("publications", f"{result.published:,}"),
        ("deliveries", f"{result.deliveries:,}"),
        ("publications over links", f"{result.forwards:,}"),
        ("subscription messages over links", f"{result.interests:,}"),
        ("… per broker", f"{measures.subscriptions_per_broker:,.1f}"),
        ("… share of all messages", f"{measures.subscription_share:.1%}"),
        ("control bytes over links", f"{result.control_bytes:,}"),
        ("bytes over links", f"{result.link_bytes:,}"),
        ("messages per broker", f"{measures.messages_per_broker:,.0f}"),
        ("longest average queue", f"{measures.longest_average_queue:,.1f}"),
        ("longest queue (broker)", f"{measures.longest_queue:,} (b{measures.hottest_broker})"),
        ("latency, median", f"{measures.latency_median * 1000:,.1f} ms"),
        ("latency, mean", f"{measures.latency_mean * 1000:,.1f} ms"),
        ("latency, 99 %", f"{measures.latency_99 * 1000:,.1f} ms"),
        ("simulated", f"{result.virtual_seconds:.0f} s in {result.wall_seconds:.1f} s"),
        ("delivered or forwarded", f"{result.messages_a_second:,.0f} a second of real time"),
    )


def torture(
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Number of seeds to run in each mode.")
    ] = None,
    first: Annotated[
        int, typer.Option("--first", "--seed", min=0, help="The first seed; the others follow.")
    ] = 1,
    modes: Annotated[
        str,
        typer.Option(
            "--modes",
            "--mode",
            help=f"Of {', '.join(ALL_MODES)}, with commas between; all if not named. "
            "In mixed ones operators change the mode.",
        ),
    ] = "",
    minutes: Annotated[
        float | None,
        typer.Option(min=0.0, help="Start no further mesh after this many minutes."),
    ] = None,
    roaming: Annotated[
        bool, typer.Option("--roaming", help="Include roaming clients and shared subscriptions.")
    ] = False,
    bursts: Annotated[
        bool,
        typer.Option(
            "--bursts/--no-bursts",
            help="Publishers sometimes send many messages at once; "
            "without, seeds are what they were before that.",
        ),
    ] = True,
    operators: Annotated[
        bool,
        typer.Option(
            "--operators", help="Include rules, areas, and subscribers whose areas follow them."
        ),
    ] = False,
    compressed: Annotated[
        bool, typer.Option("--compressed", help="Two links of three are compressed.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Number of processes; by default one per core."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the plans of failed runs.")] = Path(),
) -> None:
    """Search random meshes for lost or duplicate messages; print every failing seed."""
    chosen = [mode.strip() for mode in modes.split(",") if mode.strip()] or list(ALL_MODES)
    for mode in chosen:
        if mode not in ALL_MODES:
            raise WrongUse(f"--modes accepts {', '.join(ALL_MODES)}, not {mode!r}")
    if seeds is None and minutes is None:
        minutes = _DEFAULT_MINUTES
    total = seeds * len(chosen) if seeds is not None else 60 * (minutes or 0.0)
    with Advance("trials" if seeds is not None else "seconds", total) as advance:

        def show(report: TrialReport) -> None:
            failed = f"{len(report.failures)} failed" if report.failures else ""
            advance.show(report.trials if seeds is not None else report.seconds, failed)

        report = run_torture(
            cases(first, seeds, chosen, roaming, bursts, operators, compressed),
            jobs or os.cpu_count() or 1,
            None if minutes is None else minutes * 60,
            show,
        )
    kind = ", with roaming clients" if roaming else ""
    kind += "" if bursts else ", without bursts"
    kind += ", with operators" if operators else ""
    kind += ", with compressed links" if compressed else ""
    typer.echo(_summary(report, chosen, kind))
    if report.failures:
        show_failures(report.failures, out)
        raise CommandError(
            f"{len(report.failures)} of {report.trials} meshes broke a promise, "
            f"of {len({failure.case.seed for failure in report.failures})} seeds"
        )
    typer.echo("every promise was kept")


def _summary(report: TrialReport, modes: list[str], kind: str) -> str:
    span = f"{min(report.seeds)} to {max(report.seeds)}" if report.seeds else "none"
    return (
        f"{len(report.seeds)} seeds ({span}) in {len(modes)} modes ({', '.join(modes)}){kind}: "
        f"{report.trials} meshes, {report.receipts} messages received, {report.events} events, "
        f"{len(report.failures)} failures in {report.seconds:.0f} seconds"
    )


def replay(
    trace: Annotated[
        Path, typer.Argument(help="Trace file written by `sim torture`.", exists=True)
    ],
) -> None:
    """Replay a failure, event by event."""
    try:
        plan = read_plan(trace.read_text())
    except (ValueError, TypeError) as problem:
        raise CommandError(f"{trace} is not a simulation trace: {problem}") from problem
    outcome = run_trial(plan, keeps_trace=True)
    for line in outcome.trace:
        typer.echo(line)
    if outcome.faults:
        show_faults(outcome.faults)
        raise CommandError("it still fails")
    typer.echo("every promise was kept")


def show_faults(faults: Sequence[str]) -> None:
    for fault in faults[:_MOST_SHOWN]:
        typer.echo(fault, err=True)


def show_failures(failures: Sequence[TrialVerdict], folder: Path) -> None:
    """Every failing seed in a line; plans go into files that `gossamer sim replay` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    for failure in failures[:_MOST_SHRUNK]:
        _explain(failure, folder)
    for failure in failures:
        case, fault = failure.case, failure.faults[0].splitlines()[-1]
        typer.echo(f"seed {case.seed} in {case.mode}: {fault}", err=True)
        typer.echo(f"  reproduce it with: {case.command()}", err=True)


def _explain(failure: TrialVerdict, folder: Path) -> None:
    """The smallest plan found that fails, and how it ends; the whole plan of one that raised."""
    case, plan = failure.case, failure.case.plan()
    path = folder / f"sim-failure-{case.seed}-{case.mode}.json"
    path.write_text(plan.as_text())
    with suppress(Exception):  # it is shown with the faults, as it was first raised
        outcome = run_trial(plan, keeps_trace=True)
        if outcome.faults:
            outcome = run_trial(shrunk(plan), keeps_trace=True)
            path.write_text(outcome.plan.as_text())
        for line in outcome.trace[-_MOST_SHOWN:]:
            typer.echo(line, err=True)
    show_faults(failure.faults)
    typer.echo(f"event by event: gossamer sim replay {path}", err=True)
