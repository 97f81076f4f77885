"""Beyond the papers: how long a mesh with spare links takes to heal, and how that grows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from gossamer.mesh.settings import SILENCE_SECONDS
from gossamer_lab.experiments.dissemination.outage import CRASH, CUT, outage
from gossamer_lab.experiments.dissemination.reduced_repair import heal
from gossamer_lab.experiments.experiment import Claim, Experiment, Figure, Grid, ResultRows, Scaled
from gossamer_lab.experiments.plots import STYLES, curve, from_zero, panels

FULL, REDUCED = "full", "reduced"
FAULTS: Final = (CUT, CRASH)
FEW_BROKERS: Final = Scaled((30, 10, 5), (100, 30, 10))
# Every one of them computes the tree whenever it changes: these have fewer seeds.
MANY_BROKERS: Final = Scaled((), (300,), (1_000, 300))
SEEDS_OF_MANY: Final = 3
REDUCED_BROKERS: Final = Scaled(
    (10_000, 1_000, 100, 30, 10), (100_000, 10_000, 1_000, 300, 100, 30, 10)
)
SEEDS: Final = Scaled(3, 10)
MOST_SECONDS: Final = 2.0  # past the silence by which a crash is found out
# How near the reduced form must come; the full simulation publishes every 0.05 s.
NEAR: Final = 0.1


def measure(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    brokers = parameters["brokers"]
    if parameters["fidelity"] == REDUCED:
        return asdict(heal(brokers, seed))
    return asdict(outage(brokers, parameters["fault"], seed))


def figures(rows: ResultRows) -> list[Figure]:
    drawing, axes = panels(3)
    outages, computing, held = axes
    for fault, style in zip(FAULTS, STYLES, strict=False):
        curve(outages, rows.where(fidelity=FULL, fault=fault), "brokers", "longest", style, fault)
    reduced = rows.where(fidelity=REDUCED)
    curve(outages, reduced, "brokers", "longest", STYLES[2], f"{CUT}, worked out")
    curve(computing, reduced, "brokers", "computing", STYLES[2], "")
    curve(held, reduced, "brokers", "held_bytes", STYLES[2], "")
    outages.axhline(SILENCE_SECONDS, color="grey", linewidth=1, label="silence that is noticed")
    units = {
        outages: "longest outage of a subscriber, s",
        computing: "processor time to compute the tree, s",
        held: "bytes of announcements on a broker",
    }
    for axis, unit in units.items():
        axis.set(xlabel="brokers", ylabel=unit, xscale="log")
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
        reduced.mean(name, brokers=most) for name in ("longest", "computing", "held_bytes")
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
    grid=(
        Grid({"fidelity": [FULL], "brokers": MANY_BROKERS, "fault": FAULTS}, SEEDS_OF_MANY)
        + Grid({"fidelity": [FULL], "brokers": FEW_BROKERS, "fault": FAULTS}, SEEDS)
        + Grid({"fidelity": [REDUCED], "brokers": REDUCED_BROKERS, "fault": [CUT]}, SEEDS)
    ),
    measure=measure,
    figures=figures,
)
