"""Runs the scenario for every mode and wildcard rate, on as many cores as there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

from gossamer.experiments.dissemination.sizes import Sizes
from gossamer.experiments.dissemination.storm import Storm, measure_storm
from gossamer.mesh.settings import MODES
from gossamer.sim.scenario.measures import Measures, measure
from gossamer.sim.scenario.running import Scenario
from gossamer.sim.scenario.settings import ScenarioSettings

SPREAD = "spread"  # the paper's network
CROWDED = "crowded"  # Figure 20
SETTLED = "settled"  # who gets what, once all subscriptions are known


@dataclass
class Cell:
    """One run, without the bulk of what it left."""

    kind: str
    mode: str
    alpha: float
    measures: Measures
    published: int
    deliveries: int
    forwards: int
    interests: int
    control_bytes: int
    link_bytes: int
    rate: float  # delivered or forwarded messages in a second of real time
    received: int  # identifies what each observed subscriber got


@dataclass
class Findings:
    cells: list[Cell]
    storms: list[Storm]

    def of(self, kind: str, mode: str) -> dict[float, Cell]:
        """By wildcard rate."""
        found = [cell for cell in self.cells if cell.kind == kind and cell.mode == mode]
        return {cell.alpha: cell for cell in sorted(found, key=lambda cell: cell.alpha)}


def measure_all(sizes: Sizes, show: Callable[[int, int], None]) -> Findings:
    """Shows how many of how many runs are done."""
    findings = Findings([], [])
    workers = os.cpu_count() or 1
    with ProcessPoolExecutor(workers) as pool:
        work = [pool.submit(run_cell, kind, settings) for kind, settings in runs(sizes)]
        storms = [
            pool.submit(measure_storm, mode, sizes.filters, is_storm)
            for mode in ("ssf", "bloom")
            for is_storm in (False, True)
        ]
        every: list[Future[Any]] = [*work, *storms]
        for done, _ in enumerate(as_completed(every), 1):
            show(done, len(every))
        findings.cells = [each.result() for each in work]
        findings.storms = [each.result() for each in storms]
    return findings


def run_cell(kind: str, settings: ScenarioSettings) -> Cell:
    result = Scenario(settings).run(lambda part, what: None)
    return Cell(
        kind,
        settings.mode,
        settings.alpha,
        measure(result),
        result.published,
        result.deliveries,
        result.forwards,
        result.interests,
        result.control_bytes,
        result.link_bytes,
        result.messages_a_second,
        hash(tuple(result.seen)),
    )


def runs(sizes: Sizes) -> Iterator[tuple[str, ScenarioSettings]]:
    """Longest first, so that no core is left with a long one at the end."""
    ends = (sizes.alphas[0], sizes.alphas[-1])
    for mode in MODES:
        # Nothing that is subscribed changes what `pf` sends: its two ends show that.
        for alpha in ends if mode == "pf" else sizes.alphas:
            yield SPREAD, sizes.scenario(mode, alpha)
    for mode in MODES:
        for alpha in ends:
            yield CROWDED, sizes.crowded(mode, alpha)
            yield SETTLED, sizes.settled(mode, alpha)
