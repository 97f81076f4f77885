"""Results of a benchmark of brokers: tables to look at, markdown to keep, JSON to compute with."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from gossamer.cli.errors import CommandError
from gossamer_lab.bench.harness import Brokers, Results
from gossamer_lab.bench.load.scenarios import BY_NAME, LoadScenario
from gossamer_lab.bench.measurement import Measurement
from gossamer_lab.tables import markdown_table, table

COLUMNS = (
    "broker",
    "in/s",
    "out/s",
    "CPU µs",
    "p50 µs",
    "p99 µs",
    "lost",
    "RSS MiB",
    "bytes/conn.",
    "set-up s",
    "gen. CPU",
    "gossamer/it",
    "its CPU/ours",
)
LEGEND = (
    "CPU µs: processor time of the broker for each delivery. "
    "gen. CPU: the generator's processor time as a share of the broker's. "
    "gossamer/it: gossamer's out/s (or what is named) divided by this broker's. "
    "its CPU/ours: this broker's CPU µs divided by gossamer's."
)
# The generator must not be what is measured: above this share of the broker's time, it is said.
GENERATOR_BOUND = 1.0

# A machine that does nothing else has a lower load average before the first run.
BUSY_LOAD = 0.7


class ScenarioTable(NamedTuple):
    scenario: LoadScenario
    columns: list[str]
    rows: list[list[str]]
    notes: list[str]


def number(value: float | None, digits: int = 0) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def ratio(own: Measurement | None, other: Measurement) -> str:
    """How this broker compares with another one, in what the scenario is about."""
    if own is None or own is other or own.failure or other.failure:
        return ""
    if own.p99_microseconds is not None and other.p99_microseconds:
        return f"{own.p99_microseconds / other.p99_microseconds:.2f}× (p99)"
    if own.bytes_per_connection is not None and other.bytes_per_connection:
        return f"{own.bytes_per_connection / other.bytes_per_connection:.1f}× (bytes)"
    if not other.out_per_second():
        return ""
    return f"{own.out_per_second() / other.out_per_second():.1f}×"


def cpu_ratio(own: Measurement | None, other: Measurement) -> str:
    """How much more processor time a delivery costs the other broker."""
    ours = None if own is None or own is other else own.cpu_per_delivery()
    theirs = other.cpu_per_delivery()
    return f"{theirs / ours:.1f}×" if ours and theirs else ""


def row(scenario: LoadScenario, name: str, own: Measurement | None, run: Measurement) -> list[str]:
    if run.failure:
        return [name, *[""] * (len(COLUMNS) - 1)]
    has_flow = run.seconds > 0
    share = run.generator_cpu_seconds / run.broker_cpu_seconds if run.broker_cpu_seconds else None
    load = "" if share is None else f"{share:.0%}"
    if share is not None and share > GENERATOR_BOUND and scenario.is_burst:
        load += " (!)"
    return [
        name,
        number(run.in_per_second()) if has_flow else "",
        number(run.out_per_second()) if has_flow else "",
        number(run.cpu_per_delivery(), 2),
        number(run.p50_microseconds),
        number(run.p99_microseconds),
        number(run.lost) if has_flow else "",
        number(run.resident_bytes / 2**20, 1) if run.resident_bytes else "",
        number(run.bytes_per_connection),
        number(run.set_up_seconds, 1),
        load,
        ratio(own, run),
        cpu_ratio(own, run),
    ]


def tables(results: Results) -> list[ScenarioTable]:
    """For each scenario its columns and rows, without the columns that it leaves empty."""
    found = []
    for scenario_name, by_broker in results.items():
        scenario = BY_NAME[scenario_name]
        own = by_broker.get("gossamer")
        rows = [row(scenario, name, own, run) for name, run in by_broker.items()]
        used = [i for i in range(len(COLUMNS)) if any(cells[i] for cells in rows)]
        columns = [COLUMNS[i] for i in used]
        kept = [[cells[i] for i in used] for cells in rows]
        found.append(ScenarioTable(scenario, columns, kept, failures(by_broker)))
    return found


def failures(by_broker: Mapping[str, Measurement]) -> list[str]:
    return [f"{name}: {run.failure}" for name, run in by_broker.items() if run.failure]


def show(console: Console, found: Sequence[ScenarioTable]) -> None:
    for scenario, columns, rows, notes in found:
        console.print(table(scenario.title, columns, rows))
        for note in notes:
            console.print(f"not measured: {note}", style="yellow")


def machine() -> str:
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    cores = len(os.sched_getaffinity(0))
    return f"{model}, {cores} cores, {platform.system()} {platform.release()}, " + (
        f"Python {platform.python_version()}"
    )


def busy() -> str:
    """What to think of the numbers if the machine has other work; empty if it has none."""
    load = os.getloadavg()[0]
    if load < BUSY_LOAD:
        return ""
    return f"the machine is busy (load {load:.1f}): only processor time and memory can be compared"


def versions(brokers: Sequence[Brokers]) -> str:
    return ", ".join(f"{one.name} {one.version}".strip() for one in brokers)


def markdown(found: Sequence[ScenarioTable], *paragraphs: str) -> str:
    """The tables, below the machine and what else is to be said."""
    lines = [line for text in (f"Machine: {machine()}.", *paragraphs) for line in (text, "")]
    for scenario, columns, rows, notes in found:
        lines += [f"### {scenario.title}", "", *markdown_table(columns, rows), ""]
        lines += [line for note in notes for line in (f"Not measured: {note}.", "")]
    return "\n".join(lines)


def save(name: str, folder: Path, text: str, **document: Any) -> list[Path]:
    """Writes the markdown and, with when and where it was measured, the JSON; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    as_json, as_markdown = folder / f"{name}.json", folder / f"{name}.md"
    as_json.write_text(json.dumps({"at": at, "machine": machine(), **document}, indent=2) + "\n")
    as_markdown.write_text(text)
    return [as_json, as_markdown]


def save_results(
    name: str, folder: Path, text: str, results: Results, versions: Mapping[str, str]
) -> list[Path]:
    by_scenario = {
        scenario: {broker: asdict(run) for broker, run in by_broker.items()}
        for scenario, by_broker in results.items()
    }
    return save(name, folder, text, brokers=dict(versions), results=by_scenario)


def save_brokers(results: Results, brokers: Sequence[Brokers], folder: Path) -> list[Path]:
    text = markdown(tables(results), f"Brokers: {versions(brokers)}.", LEGEND)
    by_name = {one.name: one.version for one in brokers}
    return save_results("brokers", folder, text, results, by_name)


def conclude(
    console: Console, results: Results, brokers: Sequence[Brokers], folder: Path, *notes: str
) -> None:
    """What a benchmark of brokers prints and keeps; CommandError if it measured nothing."""
    show(console, tables(results))
    for note in notes:
        console.print(note)
    console.print(f"{machine()}; {versions(brokers)}")
    say_where(console, save_brokers(results, brokers, folder))
    check_any(results)


def say_where(console: Console, files: Sequence[Path]) -> None:
    console.print("kept in " + ", ".join(str(path) for path in files))


def check_any(results: Results) -> None:
    if all(run.failure for by_broker in results.values() for run in by_broker.values()):
        raise CommandError("nothing could be measured; the table says why")
