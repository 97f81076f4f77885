"""Beyond the papers: ten and a hundred thousand brokers, by the simulator's reduced form."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from gossamer_lab.experiments.experiment import (
    Claim,
    Experiment,
    Figure,
    Grid,
    Quantity,
    ResultRows,
    Scaled,
)
from gossamer_lab.experiments.plots import MODE_STYLES, STYLES, Style, curve, panels
from gossamer_lab.scenarios.scenario import Scenario
from gossamer_lab.scenarios.workload import ScenarioSettings

FULL, REDUCED = "full", "reduced"
FULL_BROKERS: Final = Scaled((100, 30), (1_000, 300, 100))
REDUCED_BROKERS: Final = Scaled(
    (10_000, 1_000, 100, 30),
    (100_000, 10_000, 1_000, 300, 100),
    (300_000, 100_000, 10_000, 1_000, 300, 100),
)
SEEDS: Final = Scaled(2, 3)
MODES: Final = ("sf", "ssf")
ALPHA: Final = 0.3
SECONDS: Final = 3.0  # of publishing, once everything is known
# The paper's clients of a broker.
SUBSCRIBERS, PUBLISHERS = 8, 2
ROOM_FOR_LEGEND: Final = 100
NEAR: Final = 0.10  # how near the reduced form must come


def measure(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    brokers = parameters["brokers"]
    settings = ScenarioSettings(
        brokers=brokers,
        subscribers=SUBSCRIBERS * brokers,
        publishers=PUBLISHERS * brokers,
        alpha=ALPHA,
        seconds=SECONDS,
        seed=seed,
        settled=True,
        mode=parameters.get("mode", "ssf"),
    )
    if parameters["fidelity"] == REDUCED:
        # Not at the top: only this needs numpy.
        from gossamer_lab.scenarios.reduced import reduce

        return asdict(reduce(settings))
    result = Scenario(settings).run(lambda part, what: None)
    return {
        "messages": result.interests,
        "held": 2 * result.told / brokers,
        "forwards": result.forwards / SECONDS,
        "control_bytes": result.control_bytes,
        "joining_bytes": result.joining_bytes,
    }


def figures(rows: ResultRows) -> list[Figure]:
    drawing, axes = panels(2, 2)
    reduced = rows.where(fidelity=REDUCED)

    def add(axis: Any, name: str, style: Style, label: str, each: bool = True) -> None:
        quantity: Quantity = (lambda row: row[name] / row["brokers"]) if each else name
        curve(axis, reduced, "brokers", quantity, style, label)

    told, held, flow, busiest = axes
    for mode in MODES:
        add(told, f"{mode}_messages", MODE_STYLES[mode], mode)
        add(held, f"{mode}_held", MODE_STYLES[mode], f"{mode}, filters", each=False)
        _dots(told, rows, mode, "messages", True)
        _dots(held, rows, mode, "held", False)
    add(held, "bloom_held", MODE_STYLES["bloom"], "bloom, bytes", each=False)
    add(held, "ssf_held_bytes", STYLES[4], "ssf, bytes", each=False)
    add(flow, "pf_forwards", MODE_STYLES["pf"], "pf")
    add(flow, "wanted_forwards", MODE_STYLES["ssf"], "sf, ssf, bloom")
    _dots(flow, rows, "ssf", "forwards", True)
    add(busiest, "busiest_pf", MODE_STYLES["pf"], "pf", each=False)
    add(busiest, "busiest_wanted", MODE_STYLES["ssf"], "sf, ssf, bloom", each=False)
    units = {
        told: "subscription messages a broker sends",
        held: "held for and from neighbours, a broker",
        flow: "publications a broker sends, a second",
        busiest: "of the busiest broker, a second",
    }
    for axis, unit in units.items():
        axis.set(xlabel="brokers", ylabel=unit, xscale="log", yscale="log")
    held.set_ylim(top=ROOM_FOR_LEGEND * held.get_ylim()[1])
    for axis in axes:
        axis.legend(fontsize=8, loc="upper left")
    return [
        Figure(
            "Beyond",
            "Control traffic, state and load as the mesh grows",
            drawing,
            "The papers stop at a thousand brokers.",
            [*_agreement(rows), *_findings(rows)],
            "Lines are the reduced form, which works out what crosses every link; crosses are the "
            "full simulation of the brokers that ship. Eight subscribers and two publishers a "
            "broker and 100 topics, as in the paper. Up to the crosses everything is simulated; "
            "beyond them it is the reduced form alone: no queues, no broker's time, no faults.",
        )
    ]


def _dots(axis: Any, rows: ResultRows, mode: str, name: str, each: bool) -> None:
    """The full simulation."""
    found = rows.where(fidelity=FULL, mode=mode)
    axis.plot(
        found.values("brokers"),
        [row[name] / (row["brokers"] if each else 1) for row in found],
        linestyle="none",
        marker="x",
        markersize=9,
        color=MODE_STYLES[mode].colour,
        label=f"{mode}, full simulation",
    )


def _agreement(rows: ResultRows) -> list[Claim]:
    """Seed by seed, on the same network."""
    pairs = (
        ("sf", "messages", "sf_messages", "subscription messages of SF"),
        ("ssf", "messages", "ssf_messages", "subscription messages of SSF"),
        ("ssf", "held", "ssf_held", "filters held with SSF"),
        ("ssf", "forwards", "wanted_forwards", "publications forwarded"),
    )
    largest = max(rows.where(fidelity=FULL).distinct("brokers"))
    claims = []
    for mode, ours, theirs, what in pairs:
        apart: list[float] = []
        for row in rows.where(fidelity=FULL, mode=mode, brokers=largest):
            other = [
                one for one in rows.where(fidelity=REDUCED, brokers=largest) if one.seed == row.seed
            ]
            apart.extend(one[theirs] / row[ours] - 1 for one in other)
        if not apart:
            raise LookupError(f"no pair of full and reduced runs at {largest} brokers")
        claims.append(
            Claim(
                f"reduced against full simulation at {largest:,} brokers: {what}",
                f"within {NEAR:.0%}",
                f"{min(apart):+.1%} to {max(apart):+.1%}",
                max(abs(part) for part in apart) <= NEAR,
                "ties: what arrives in the same 5 ms is handled together in the simulation, so "
                "fewer filters are told that something wider replaces at once",
                headline=what == "subscription messages of SSF",
            )
        )
    return claims


def _findings(rows: ResultRows) -> list[Claim]:
    sizes = sorted(rows.where(fidelity=REDUCED).distinct("brokers"))
    few, many = sizes[-2], sizes[-1]

    def mean(brokers: int, name: str) -> float:
        return rows.mean(name, fidelity=REDUCED, brokers=brokers)

    def each(brokers: int, name: str) -> float:
        return mean(brokers, name) / brokers

    growth = {
        mode: each(many, f"{mode}_messages") / each(few, f"{mode}_messages") for mode in MODES
    }
    return [
        Claim(
            f"control traffic of a broker from {few:,} to {many:,} brokers",
            "not in the papers",
            f"SF {growth['sf']:.1f} times (every subscription crosses every link), SSF "
            f"{growth['ssf']:.2f} times: {each(many, 'ssf_messages'):,.0f} messages a broker",
            growth["ssf"] < growth["sf"],
            headline=True,
        ),
        Claim(
            f"state of a broker at {many:,} brokers",
            "not in the papers",
            f"{mean(many, 'ssf_held'):,.0f} filters with SSF and "
            f"{mean(many, 'sf_held'):,.0f} with SF, as many as there are different ones; a "
            f"summary {mean(many, 'bloom_held') / 1024:,.1f} KiB",
            mean(many, "ssf_held") <= mean(many, "sf_held"),
            headline=True,
        ),
        Claim(
            "but publications grow with the mesh, whatever the mode: on 100 topics that everybody "
            "shares, a broker is not spared what it passes on",
            "not in the papers",
            f"the busiest broker sends {mean(many, 'busiest_wanted'):,.0f} a second at "
            f"{many:,} brokers; a subscription is known everywhere after "
            f"{mean(many, 'known_after') * 1000:,.0f} ms of latency",
            True,
        ),
    ]


EXPERIMENT = Experiment(
    name="beyond-scale",
    title="What would it be like at internet scale?",
    source="Beyond the papers",
    about=(
        "The network of the simulation, larger. The full simulation runs real brokers and ends "
        "where memory and patience do. The reduced form works out, for every link of the same "
        "tree, when each filter first arrives, and from that what is told, held and forwarded."
    ),
    grid=(
        Grid({"fidelity": [REDUCED], "brokers": REDUCED_BROKERS}, SEEDS)
        + Grid({"fidelity": [FULL], "brokers": FULL_BROKERS, "mode": MODES}, SEEDS)
    ),
    measure=measure,
    figures=figures,
)
