"""The results as rows to show, and as markdown and JSON to keep."""

from collections.abc import Sequence
from pathlib import Path

from gossamer_lab.bench.brokers.measurement import Measurement
from gossamer_lab.bench.brokers.report import machine, save_as
from gossamer_lab.bench.brokers.scenarios import BY_NAME
from gossamer_lab.bench.mesh.chains import BrokerChain
from gossamer_lab.bench.mesh.measurement import Results, kept, kept_of_all, per_core

COLUMNS = (
    "brokers",
    "out/s",
    "CPU µs",
    "busiest µs",
    "per core/s",
    "of one",
    "of one, all",
    "lost",
)
LEGEND = (
    "All brokers of a line share one core here. CPU µs: of all of them, for each delivery. "
    "busiest µs: of the one that works most. per core/s: deliveries for each second of that one, "
    "which is what the line carries if each broker has a core. of one: that, as a part of what "
    "one broker of the same kind does. of one, all: the same for each second of all brokers of the "
    "line together; three that each do the work of one keep 33%."
)


def rows(results: Results, chains: Sequence[BrokerChain], scenario: str) -> list[list[str]]:
    found = results[scenario]
    alone = {chain.kind: found[chain.name] for chain in chains if chain.length == 1}
    return [_row(chain.name, found[chain.name], alone.get(chain.kind)) for chain in chains]


def _row(name: str, run: Measurement, alone: Measurement | None) -> list[str]:
    if run.failure:
        return [name, *[""] * (len(COLUMNS) - 1)]
    busiest = run.busiest_cpu_seconds / run.delivered * 1e6 if run.delivered else None
    shares = (kept(run, alone), kept_of_all(run, alone))
    return [
        name,
        f"{run.out_per_second():,.0f}",
        _number(run.cpu_per_delivery(), 2),
        _number(busiest, 2),
        _number(per_core(run), 0),
        *("" if share is None else f"{share:.0%}" for share in shares),
        f"{run.lost:,}",
    ]


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def failures(results: Results, scenario: str) -> list[str]:
    return [f"{name}: {run.failure}" for name, run in results[scenario].items() if run.failure]


def markdown(results: Results, chains: Sequence[BrokerChain]) -> str:
    lines = [f"Machine: {machine()}.", "", LEGEND, ""]
    for scenario in results:
        lines += [f"### {BY_NAME[scenario].title}", ""]
        lines += ["| " + " | ".join(COLUMNS) + " |", "| --- |" + " ---: |" * (len(COLUMNS) - 1)]
        lines += ["| " + " | ".join(cells) + " |" for cells in rows(results, chains, scenario)]
        lines += ["", *(f"Not measured: {note}." for note in failures(results, scenario))]
    return "\n".join(lines) + "\n"


def save(results: Results, chains: Sequence[BrokerChain], folder: Path) -> list[Path]:
    versions = {chain.kind: chain.version for chain in chains}
    return save_as("mesh", results, versions, markdown(results, chains), folder)
