"""The results of all cells: as tables, as a file, and held against what is known and wanted."""

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from gossamer.bench.bloom_workload import Parameters, Preparation
from gossamer.experiments.bloom.cells import DEEP_WITHOUT_MATCH, SWEEPS, Cell, Sweep
from gossamer.experiments.bloom.measuring import (
    BFP,
    HYBRID,
    METHODS,
    OTHERS,
    PREFIX,
    Effort,
    measure,
)

# What the papers print for ten levels without a match, and how near a repetition must come.
PUBLISHED = {BFP: 1_570.0, PREFIX: 29.7}
TOLERANCE = 0.03

DEEP_TARGET = 12.0


@dataclass(frozen=True)
class Check:
    """One thing that the results are held against."""

    text: str
    holds: bool


@dataclass
class Results:
    """The average queries of each method in each cell."""

    averages: dict[Cell, dict[str, float]] = field(default_factory=dict)

    def panel(self, preparation: Preparation, sweep: Sweep) -> dict[float, dict[str, float]]:
        """One panel of a figure: value of the parameter → method → average queries."""
        return {
            cell.value: average
            for cell, average in self.averages.items()
            if cell.preparation is preparation and cell.sweep == sweep
        }

    def checks(self) -> list[Check]:
        deep = self.averages[DEEP_WITHOUT_MATCH]
        checks = [
            Check(
                f"{method}, {DEEP_WITHOUT_MATCH}: {deep[method]:,.1f} queries, "
                f"published {published:,.1f} (within {TOLERANCE:.0%})",
                abs(deep[method] - published) <= TOLERANCE * published,
            )
            for method, published in PUBLISHED.items()
        ]
        checks.append(
            Check(
                f"{HYBRID} there: {deep[HYBRID]:,.1f} queries (at most {DEEP_TARGET:g})",
                deep[HYBRID] <= DEEP_TARGET,
            )
        )
        worse = [
            cell
            for cell, average in self.averages.items()
            if average[HYBRID] > min(average[method] for method in OTHERS)
        ]
        best = f"{HYBRID} needs no more queries than the best of the others in"
        checks.append(
            Check(
                f"{best} {len(self.averages) - len(worse)} of {len(self.averages)} cells"
                + "".join(f"; not in: {cell}" for cell in worse),
                not worse,
            )
        )
        return checks

    def save(self, path: Path) -> None:
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("preparation", "parameter", "value", *METHODS))
            for cell, average in self.averages.items():
                numbers = [f"{average[method]:.3f}" for method in METHODS]
                writer.writerow((cell.preparation, cell.sweep.symbol, cell.value, *numbers))


def run(
    chosen: Iterable[Cell], effort: Effort, seed: int, report: Callable[[Cell], None]
) -> Results:
    """Measures the cells in turn; `report` is told each one that is done."""
    results = Results()
    # The defaults are a point of every sweep: they are measured once.
    known: dict[tuple[Preparation, Parameters], dict[str, float]] = {}
    for cell in chosen:
        same = (cell.preparation, cell.parameters())
        if same not in known:
            known[same] = measure(cell, effort, seed)
        results.averages[cell] = known[same]
        report(cell)
    return results


def panels(results: Results) -> Iterable[tuple[Preparation, Sweep, dict[float, dict[str, float]]]]:
    """The twelve panels in the order of the figures."""
    for preparation in Preparation:
        for sweep in SWEEPS:
            yield preparation, sweep, results.panel(preparation, sweep)
