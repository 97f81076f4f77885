"""``gossamer bench growth``: what a delivery costs by how much a broker holds.

Processor time for each delivery, over topics in use, subscriptions, retained messages and
connections. A broker whose cost grows with one of them has a cliff somewhere.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from gossamer.cli.errors import WrongUse
from gossamer_lab import tables
from gossamer_lab.bench import harness, peers, report
from gossamer_lab.bench.harness import Results
from gossamer_lab.bench.load.scenarios import GROWTH_SCENARIOS

QUICK: Final = harness.RunLength(0.5)
# Sizes of quick runs end here.
QUICK_MOST: Final = 10_000
TITLES: Final = {
    "topics": "topics in use, 100 wildcard subscribers, each message for 13 of them",
    "subscriptions": "subscriptions, each message for one of them",
    "retained": "retained messages, 100 wildcard subscribers over 1,000 other topics",
    "connections": "connections, each message for one of them",
}
LEGEND: Final = (
    "Microseconds of the broker's processor time for each delivery, by how many there are; of "
    "several runs the middle one. growth: the last by the first. Messages go to all topics in "
    "turn, and once before the measured time, as far as a minute reaches."
)


def growth(
    over: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Only over this ({', '.join(GROWTH_SCENARIOS)}); may be repeated.",
        ),
    ] = None,
    most: Annotated[
        int, typer.Option(min=100, metavar="N", help="No sizes above this.")
    ] = 1_000_000,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only the broker of this name; may be repeated."),
    ] = None,
    beside: harness.Beside = None,
    quick: harness.Quick = False,
    repeat: harness.Repeat = 1,
    seconds: Annotated[
        float | None, typer.Option(min=0.05, help="Measured time of each run.")
    ] = None,
    out: harness.Out = Path("out/growth"),
) -> None:
    """Measure the processor time of a delivery by how much the broker holds."""
    unknown = [name for name in over or () if name not in GROWTH_SCENARIOS]
    if unknown:
        raise WrongUse(f"nothing is called {unknown[0]}: choose from {', '.join(GROWTH_SCENARIOS)}")
    try:
        others = [peers.checkout(root) for root in beside or ()]
    except ValueError as problem:
        raise WrongUse(str(problem)) from None
    found = [peers.gossamer(), *others, *peers.present(peers.mosquitto())]
    field = [one for one in found if not only or one.name in only]
    if not field:
        names = ", ".join(one.name for one in found)
        raise WrongUse(f"none of --only can be measured here: choose from {names}")
    length = QUICK if quick else harness.FULL
    largest = min(most, QUICK_MOST) if quick else most
    scenarios = [
        scenario
        for growing, by_size in GROWTH_SCENARIOS.items()
        for size, scenario in by_size.items()
        if size <= largest and (not over or growing in over)
    ]
    console = tables.console()
    results = harness.run_with_bar(
        console, scenarios, field, length._replace(seconds=seconds or length.seconds), repeat
    )
    costs = growth_tables(results, [one.name for one in field])
    lines = [LEGEND, "", f"{report.machine()}; {report.versions(field)}. {report.busy()}".strip()]
    for title, heads, rows in costs:
        console.print(title)
        console.print(tables.table("", heads, rows))
        lines += ["", f"### {title}", "", *tables.markdown_table(heads, rows)]
    for note in notes(results):
        console.print(note, style="yellow")
        lines += ["", note]
    for text in lines[:3:2]:
        console.print(text)
    text = "\n".join(lines) + "\n"
    versions = {one.name: one.version for one in field}
    report.say_where(console, report.save_results("growth", out, text, results, versions))
    report.check_any(results)


def growth_tables(
    results: Results, brokers: Sequence[str]
) -> list[tuple[str, list[str], list[list[str]]]]:
    """For each thing that grows: a title, the sizes, and a row for each broker."""
    found = []
    for growing, by_size in GROWTH_SCENARIOS.items():
        sizes = {size: one.name for size, one in by_size.items() if one.name in results}
        if not sizes:
            continue
        rows = []
        for broker in brokers:
            costs = [results[name][broker].cpu_per_delivery() for name in sizes.values()]
            first, last = costs[0], costs[-1]
            grown = f"{last / first:.1f}×" if first and last else ""
            rows.append([broker, *(report.number(cost, 2) for cost in costs), grown])
        heads = ["broker", *(f"{size:,}" for size in sizes), "growth"]
        found.append((TITLES[growing], heads, rows))
    return found


def notes(results: Results) -> list[str]:
    """What could not be measured, and what was lost meanwhile."""
    found = []
    for name, by_broker in results.items():
        found += [f"Not measured: {name}, {failure}." for failure in report.failures(by_broker)]
        found += [
            f"Lost: {name}, {broker}: {run.lost:,} deliveries."
            for broker, run in by_broker.items()
            if run.lost
        ]
    return found
