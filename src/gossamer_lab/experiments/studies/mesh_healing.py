"""Beyond the papers: how long a mesh with spare links takes to heal, and how that grows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from gossamer.mesh.settings import SILENCE_SECONDS
from gossamer_lab.experiments.bands import band
from gossamer_lab.experiments.dissemination.outage import CRASH, CUT, outage
from gossamer_lab.experiments.dissemination.reduced_repair import heal
from gossamer_lab.experiments.experiment import (
    LARGE,
    SMALL,
    Cell,
    Claim,
    Experiment,
    Figure,
    Measures,
    Parameters,
    ResultRows,
    cells,
)
from gossamer_lab.experiments.plots import STYLES, Style, from_zero, line, panels

FULL, REDUCED = "full", "reduced"
FAULTS: Final = (CUT, CRASH)
BROKERS: Final = {SMALL: (5, 10, 30), LARGE: (10, 30, 100, 300, 1_000)}
PAPER_BROKERS: Final = (10, 30, 100, 300)
REDUCED_BROKERS: Final = {SMALL: (10, 30, 100, 1_000, 10_000)}
PAPER_REDUCED: Final = (10, 30, 100, 300, 1_000, 10_000, 100_000)
MANY: Final = 300  # brokers, every one of which computes the tree whenever it changes
SEEDS: Final = {SMALL: 3}
PAPER_SEEDS: Final = 10
SEEDS_OF_MANY: Final = 3
MOST_SECONDS: Final = 2.0  # past the silence by which a crash is found out
# How near the reduced form must come; the full simulation publishes every 0.05 s.
NEAR: Final = 0.1


def grid(scale: str) -> list[Cell]:
    full: list[dict[str, Any]] = [
        {"fidelity": FULL, "brokers": brokers, "fault": fault}
        for brokers in reversed(BROKERS.get(scale, PAPER_BROKERS))
        for fault in FAULTS
    ]
    reduced: list[dict[str, Any]] = [
        {"fidelity": REDUCED, "brokers": brokers, "fault": CUT}
        for brokers in reversed(REDUCED_BROKERS.get(scale, PAPER_REDUCED))
    ]
    seeds = SEEDS.get(scale, PAPER_SEEDS)
    found: list[Cell] = []
    for one in [*full, *reduced]:
        is_slow = one["fidelity"] == FULL and one["brokers"] >= MANY
        found += cells([one], range(1, 1 + (SEEDS_OF_MANY if is_slow else seeds)))
    return found


def measure(parameters: Parameters, seed: int) -> Measures:
    brokers = parameters["brokers"]
    if parameters["fidelity"] == REDUCED:
        return asdict(heal(brokers, seed))
    return asdict(outage(brokers, parameters["fault"], seed))


def figures(rows: ResultRows) -> list[Figure]:
    drawing, axes = panels(3)
    outages, computing, held = axes
    for fault, style in zip(FAULTS, STYLES, strict=False):
        _curve(outages, rows.where(fidelity=FULL, fault=fault), "longest", style, fault)
    reduced = rows.where(fidelity=REDUCED)
    _curve(outages, reduced, "longest", STYLES[2], f"{CUT}, worked out")
    _curve(computing, reduced, "computing", STYLES[2], "")
    _curve(held, reduced, "held_bytes", STYLES[2], "")
    outages.axhline(SILENCE_SECONDS, color="grey", linewidth=1, label="silence that is noticed")
    units = {
        outages: "longest outage of a subscriber, s",
        computing: "processor time to compute the tree, s",
        held: "bytes of announcements on a broker",
    }
    for axis, unit in units.items():
        axis.set(xlabel="brokers", ylabel=unit)
        axis.set_xscale("log")
    from_zero(outages)
    for axis in (computing, held):
        axis.set_yscale("log")
    outages.legend(fontsize=8)
    return [
        Figure(
            "Healing",
            "A link or a broker of the tree is lost",
            drawing,
            "The papers assume a tree and leave its upkeep to others.",
            [*_claims(rows), *_beyond(rows)],
            "Random graphs with one spare link for two brokers, links of 1 to 10 ms. Simulated: "
            "the brokers that ship keep the tree; a crash is found out by silence; a subscriber "
            "whose broker nobody reaches any more is not counted. Worked out: the same graphs and "
            "links, the trees that brokers compute, and how long the news and the markers take "
            "over them, without queues. Computing the tree comes on top; it is measured here.",
        )
    ]


def _curve(axis: Any, rows: ResultRows, name: str, style: Style, label: str) -> None:
    by_size = sorted(rows.by("brokers").items())
    found = [band(group.values(name)) for _, group in by_size]
    line(axis, [brokers for brokers, _ in by_size], found, style, label)


def _claims(rows: ResultRows) -> list[Claim]:
    full = rows.where(fidelity=FULL)
    worst = {fault: max(full.where(fault=fault).values("longest")) for fault in FAULTS}
    return [
        Claim(
            f"a mesh of up to {max(full.distinct('brokers')):,} brokers heals by itself",
            "not in the papers",
            f"after at most {worst[CUT]:.2f} s if a link is cut and {worst[CRASH]:.2f} s if a "
            f"broker is gone, {SILENCE_SECONDS:g} s of it the silence that is waited for; "
            f"{sum(full.values('silent'))} subscribers were on brokers that nothing led to any "
            "more",
            worst[CRASH] <= SILENCE_SECONDS + MOST_SECONDS,
            headline=True,
        ),
        _agreement(rows),
    ]


def _agreement(rows: ResultRows) -> Claim:
    """Seed by seed, on the same graph and with the same link cut."""
    simulated = {
        (row["brokers"], row.seed): row["longest"] for row in rows.where(fidelity=FULL, fault=CUT)
    }
    apart = [
        row["longest"] - simulated[row["brokers"], row.seed]
        for row in rows.where(fidelity=REDUCED)
        if (row["brokers"], row.seed) in simulated
    ]
    if not apart:
        raise LookupError("no pair of full and reduced runs")
    largest = max(brokers for brokers, _ in simulated)
    return Claim(
        f"worked out against simulated, up to {largest:,} brokers",
        f"within {NEAR:g} s",
        f"{min(apart):+.2f} to {max(apart):+.2f} s in {len(apart)} pairs",
        max(map(abs, apart)) <= NEAR,
        "a broker that has just computed a tree looks again at its next tick, up to a quarter of a "
        "second later",
    )


def _beyond(rows: ResultRows) -> list[Claim]:
    reduced = rows.where(fidelity=REDUCED)
    most = max(reduced.distinct("brokers"))
    longest, computing, held = (
        band(reduced.where(brokers=most).values(name)).mean
        for name in ("longest", "computing", "held_bytes")
    )
    return [
        Claim(
            f"healing time of {most:,} brokers (worked out, not simulated)",
            "not in the papers",
            f"{longest:.2f} s after a cut is known, and {computing:.1f} s of processor time on "
            f"every broker to compute the tree; {held / 1024**2:.1f} MiB of announcements are held",
            True,
            headline=True,
        )
    ]


EXPERIMENT = Experiment(
    name="mesh-healing",
    title="How long does it take to heal?",
    source="Beyond the papers",
    about=(
        "Meshes with more links than a tree needs. One publisher says something twenty times a "
        "second, every broker has a subscriber, and a link that carries messages, or a broker "
        "behind one, is taken away."
    ),
    grid=grid,
    measure=measure,
    figures=figures,
)
