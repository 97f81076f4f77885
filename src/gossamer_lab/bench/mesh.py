"""``gossamer bench mesh``: publishing through lines of brokers beside one, and beside bridges; how
long a message is on its way; and what links cost that carry nothing.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from gossamer.cli.errors import WrongUse
from gossamer.mesh.settings import MODES
from gossamer_lab import tables
from gossamer_lab.bench import harness, report
from gossamer_lab.bench.chains import (
    USUAL_MODE,
    BrokerChain,
    bare_chain,
    gossamer_chain,
    mosquitto_chain,
)
from gossamer_lab.bench.harness import Results
from gossamer_lab.bench.idle_links import show_idle
from gossamer_lab.bench.load.scenarios import BY_NAME, MESH_LATENCY, MESH_SCENARIOS
from gossamer_lab.bench.measurement import Measurement

LENGTHS: Final = (1, 2, 3, 5)
# What is looked at first, and what the wanted figures are about.
LINE: Final = 3
QUICK: Final = harness.RunLength(1.0)
QUICK_LENGTHS: Final = (1, LINE)
QUICK_MODES: Final = (USUAL_MODE, "bloom")
# What a line of three must keep of what one broker does for each second of the busiest, by QoS.
TARGETS: Final = {"mesh-qos0": 0.6, "mesh-qos1": 0.5, "mesh-qos2": 0.45}
# And how many times more than as many bridged brokers of Mosquitto.
TIMES_MOSQUITTO: Final = 8.0
# Microseconds through a line of three.
P50_TARGET: Final = 1_000.0
P99_TARGET: Final = 5_000.0

COLUMNS: Final = (
    "brokers",
    "out/s",
    "CPU µs",
    "busiest µs",
    "per core/s",
    "of one",
    "of one, all",
    "of one, out/s",
    "lost",
)
LATENCY_COLUMNS: Final = ("brokers", "p50 µs", "p99 µs", "CPU µs", "busiest µs", "lost")
LEGEND: Final = (
    "All brokers of a line share one core here. CPU µs: of all of them, for each delivery. "
    "busiest µs: of the one that works most. per core/s: deliveries for each second of that one, "
    "which is what the line carries if each broker has a core. of one: that, as a part of what "
    "one broker of the same kind does. of one, all: the same for each second of all brokers of the "
    "line together; three that each do the work of one keep 33%. of one, out/s: the same of what "
    "was delivered. Mosquitto runs in memory beside all of them."
)


def mesh(
    quick: harness.Quick = False,
    repeat: harness.Repeat = 1,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only brokers of this kind: gossamer, mosquitto."),
    ] = None,
    qos: Annotated[
        list[int] | None,
        typer.Option(metavar="QOS", min=0, max=2, help="Only this QoS; may be repeated."),
    ] = None,
    mode: Annotated[
        list[str] | None,
        typer.Option(metavar="MODE", help="Only this mode; may be repeated."),
    ] = None,
    length: Annotated[
        list[int] | None,
        typer.Option(metavar="BROKERS", min=1, help="Only lines of this length, and one broker."),
    ] = None,
    disk: Annotated[
        bool | None, typer.Option("--disk/--memory", help="Only on disk, or only in memory.")
    ] = None,
    beside: harness.Beside = None,
    latency: Annotated[
        bool, typer.Option("--latency", help="Only how long a message is on its way.")
    ] = False,
    idle: Annotated[
        bool, typer.Option("--idle", help="Only what links cost that carry nothing.")
    ] = False,
    out: harness.Out = Path("out/mesh"),
) -> None:
    """Measure lines of brokers: throughput beside one, latency, and what idle links cost."""
    unknown = [name for name in mode or () if name not in MODES]
    if unknown:
        raise WrongUse(f"there is no mode {unknown[0]}: choose from {', '.join(MODES)}")
    try:
        chains = list(_chains(quick, mode, length, disk, beside or ()))
    except ValueError as problem:
        raise WrongUse(str(problem)) from None
    chains = [chain for chain in chains if not only or chain.kind in only]
    if not chains:
        raise WrongUse("none of the brokers in --only is installed: leave it out to see which are")
    console = tables.console()
    if warning := report.busy():
        console.print(warning, style="yellow")
    run_length = QUICK if quick else harness.FULL
    results: Results = {}
    scenarios = [one for one in MESH_SCENARIOS if not qos or int(one.name[-1]) in qos]
    if not latency and not idle:
        results = harness.run_with_bar(console, scenarios, chains, run_length, repeat)
        for shown in scenario_tables(results, chains):
            report.show(console, [shown])
            for verdict in verdicts(shown.scenario.name, results[shown.scenario.name], chains):
                console.print(verdict, soft_wrap=True)
        console.print(LEGEND)
    if not idle and (latency or not qos):
        lines = [chain for chain in chains if chain.length in (1, LINE)]
        lines += [] if only else [bare_chain(1), bare_chain(LINE)]
        found = harness.run_with_bar(console, [MESH_LATENCY], lines, run_length, repeat)
        report.show(console, [latency_table(found[MESH_LATENCY.name])])
        for verdict in latency_verdicts(found[MESH_LATENCY.name], lines):
            console.print(verdict, soft_wrap=True)
        results |= found
    if results:
        report.say_where(console, save(results, chains, out))
        report.check_any(results)
    if idle or not (latency or qos):
        show_idle(console, quick=quick, roots=beside or ())


def _chains(
    quick: bool,
    modes: Sequence[str] | None,
    lengths: Sequence[int] | None,
    disk: bool | None,
    beside: Sequence[Path],
) -> Iterable[BrokerChain]:
    """One broker first, with which the others are compared."""
    wanted = sorted({1, *(lengths or (QUICK_LENGTHS if quick else LENGTHS))})
    in_modes = modes or (QUICK_MODES if quick else MODES)
    for is_durable in (False, True) if disk is None else (disk,):
        for root in (None, *beside):
            for number in wanted:
                for mode in in_modes if number > 1 else in_modes[:1]:
                    yield gossamer_chain(number, mode, is_durable=is_durable, root=root)
    for number in wanted:
        chain = mosquitto_chain(number)
        if chain is not None:
            yield chain


# What of one broker's throughput a chain keeps ----------------------------------------------------


def per_core(run: Measurement) -> float | None:
    """Deliveries for each second of the busiest broker: what a chain carries if every broker of it
    has a core of its own."""
    if run.failure or not run.busiest_cpu_seconds:
        return None
    return run.delivered / run.busiest_cpu_seconds


def kept(run: Measurement, alone: Measurement | None) -> float | None:
    """The part of one broker's throughput per core that a chain keeps."""
    own = per_core(run)
    one = None if alone is None else per_core(alone)
    return None if own is None or not one else own / one


def kept_of_all(run: Measurement, alone: Measurement | None) -> float | None:
    """The same for each second of all its brokers together; n brokers that each do what one does
    keep 1 / n."""
    own = run.cpu_per_delivery()
    one = None if alone is None else alone.cpu_per_delivery()
    return None if not own or not one else one / own


def kept_of_rate(run: Measurement, alone: Measurement | None) -> float | None:
    """The part of what one broker delivered in the same time."""
    one = 0.0 if alone is None else alone.out_per_second()
    return run.out_per_second() / one if one else None


def verdicts(
    scenario: str, runs: dict[str, Measurement], chains: Sequence[BrokerChain]
) -> list[str]:
    """Of our lines of three."""
    target = TARGETS[scenario]
    bridged = next((c for c in chains if c.kind == "mosquitto" and c.length == LINE), None)
    theirs = None if bridged is None else per_core(runs[bridged.name])
    found = []
    for chain in chains:
        if chain.kind != "gossamer" or chain.length != LINE:
            continue
        share = kept(runs[chain.name], _alone(chain, runs, chains))
        own = per_core(runs[chain.name])
        if share is None or own is None:
            continue
        text = (
            f"{_word(share >= target)}: {chain.name} keep {share:.0%} of one broker's throughput "
            f"for each second of the busiest (wanted: {target:.0%})"
        )
        if theirs:
            times = own / theirs
            text += (
                f"; {_word(times >= TIMES_MOSQUITTO)}: {times:.1f}× bridged Mosquittos "
                f"(wanted: {TIMES_MOSQUITTO:.0f}×)"
            )
        found.append(text)
    return found


def latency_verdicts(runs: dict[str, Measurement], chains: Sequence[BrokerChain]) -> list[str]:
    found = []
    for chain in chains:
        run = runs[chain.name]
        if chain.kind != "gossamer" or chain.length != LINE or run.failure:
            continue
        p50, p99 = run.p50_microseconds or 0.0, run.p99_microseconds or 0.0
        is_met = p50 <= P50_TARGET and p99 <= P99_TARGET
        found.append(
            f"{_word(is_met)}: {chain.name}: p50 {p50 / 1000:.2f} ms, p99 {p99 / 1000:.2f} ms "
            f"(wanted: {P50_TARGET / 1000:.0f} and {P99_TARGET / 1000:.0f} ms)"
        )
    return found


def _word(is_met: bool) -> str:
    return "ok" if is_met else "MISSED"


def _alone(
    chain: BrokerChain, runs: dict[str, Measurement], chains: Sequence[BrokerChain]
) -> Measurement | None:
    """One broker of the same kind, on disk if the chain is."""
    for one in chains:
        if (one.length, one.kind, one.is_durable) == (1, chain.kind, chain.is_durable):
            return runs[one.name]
    return None


def scenario_tables(results: Results, chains: Sequence[BrokerChain]) -> list[report.ScenarioTable]:
    found = []
    for name, runs in results.items():
        if name == MESH_LATENCY.name:
            found.append(latency_table(runs))
            continue
        rows = [_row(one.name, runs[one.name], _alone(one, runs, chains)) for one in chains]
        notes = report.failures(runs)
        found.append(report.ScenarioTable(BY_NAME[name], list(COLUMNS), rows, notes))
    return found


def latency_table(runs: dict[str, Measurement]) -> report.ScenarioTable:
    rows = []
    for name, run in runs.items():
        cells = [
            report.number(run.p50_microseconds),
            report.number(run.p99_microseconds),
            report.number(run.cpu_per_delivery(), 2),
            report.number(_busiest(run), 2),
            report.number(run.lost),
        ]
        rows.append([name, *([""] * len(cells) if run.failure else cells)])
    return report.ScenarioTable(MESH_LATENCY, list(LATENCY_COLUMNS), rows, report.failures(runs))


def _busiest(run: Measurement) -> float | None:
    return run.busiest_cpu_seconds / run.delivered * 1e6 if run.delivered else None


def _row(name: str, run: Measurement, alone: Measurement | None) -> list[str]:
    if run.failure:
        return [name, *[""] * (len(COLUMNS) - 1)]
    shares = (kept(run, alone), kept_of_all(run, alone), kept_of_rate(run, alone))
    return [
        name,
        report.number(run.out_per_second()),
        report.number(run.cpu_per_delivery(), 2),
        report.number(_busiest(run), 2),
        report.number(per_core(run)),
        *("" if share is None else f"{share:.0%}" for share in shares),
        report.number(run.lost),
    ]


def save(results: Results, chains: Sequence[BrokerChain], folder: Path) -> list[Path]:
    text = report.markdown(scenario_tables(results, chains), LEGEND)
    versions = {chain.kind: chain.version for chain in chains}
    return report.save_results("mesh", folder, text, results, versions)
