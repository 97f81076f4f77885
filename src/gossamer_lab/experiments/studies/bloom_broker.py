"""Figure 7 of the Bloom paper: the look-ups before a message, and what a broker makes of it."""

from __future__ import annotations

from typing import Any, Final

from gossamer_lab.experiments.bloom.searching_broker import measure_load, running
from gossamer_lab.experiments.experiment import Claim, Experiment, Figure, Grid, ResultRows, Scaled
from gossamer_lab.experiments.plots import STYLES, curve, from_zero, panels

QUERIES: Final = Scaled((0, 10, 100, 1_000), (0, 1, 3, 10, 30, 100, 300, 1_000, 3_000))
# Three times: together as long as the paper's 70 without its ramps.
SECONDS: Final = Scaled(0.5, 20.0)
# What the four searches take in Figure 6 at ten levels (the default of the paper is six).
METHODS: Final = {"BF": 2_047, "BFP": 1_570, "prefix": 30, "hybrid": 10}


def measure(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    """Nothing in it is random: seeds are repetitions."""
    with running(parameters["queries"]) as port:
        return measure_load(port, parameters["seconds"])


def figures(rows: ResultRows) -> list[Figure]:
    drawing, axes = panels(2)
    curve(axes[0], rows, "queries", "messages_a_second", STYLES[0], "")
    curve(axes[1], rows, "queries", "latency_ms", STYLES[0], "")
    for axis, unit in zip(
        axes, ("messages a second to the subscriber", "latency of one message, ms"), strict=True
    ):
        for (method, queries), style in zip(METHODS.items(), STYLES[1:], strict=False):
            axis.axvline(queries, color=style.colour, linestyle=style.line, alpha=0.8, label=method)
        axis.set_xscale("symlog", linthresh=1)
        axis.set(xlabel="queries before each message", ylabel=unit)
        axis.set_xlim(left=0)
    from_zero(*axes)
    axes[0].legend(title="queries at ten levels", fontsize=8)
    return [
        Figure(
            "Figure 7",
            "Look-ups, throughput and latency of a broker",
            drawing,
            "More queries mean less throughput and more latency, so the methods that take over 100 "
            "or 1,000 queries suffer.",
            _claims(rows),
            "One publisher, one subscriber, 1,024 bytes, a real socket; the paper had three "
            "machines and HiveMQ. The broker that ships does not search for every message: it "
            "remembers the route of a topic, and is the point at 0 from a topic's second message "
            "on.",
        )
    ]


def _claims(rows: ResultRows) -> list[Claim]:
    most = max(rows.distinct("queries"))
    rates = [rows.mean("messages_a_second", queries=count) for count in (0, most)]
    times = [rows.mean("latency_ms", queries=count) for count in (0, most)]
    return [
        Claim(
            f"{most:,} queries before each message lower the throughput",
            "as drawn",
            f"from {rates[0]:,.0f} to {rates[1]:,.0f} messages a second",
            rates[1] < rates[0],
            headline=True,
        ),
        Claim(
            f"{most:,} queries before each message raise the latency",
            "as drawn",
            f"from {times[0]:.2f} to {times[1]:.2f} ms",
            times[1] > times[0],
            headline=True,
        ),
    ]


EXPERIMENT = Experiment(
    name="bloom-broker",
    title="What do look-ups cost a broker?",
    source="Banno and Watanabe, Figure 7",
    about=(
        "The broker that ships, on a socket of this machine, with a number of look-ups in a Bloom "
        "filter of 10,000 elements put before every message."
    ),
    grid=Grid({"queries": QUERIES}, 3, {"seconds": SECONDS}),
    measure=measure,
    figures=figures,
    alone=True,
)
