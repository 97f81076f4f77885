"""Figure 10 of the SSF paper: T_SF / T_PF on seven brokers, real and simulated, and equation 5."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from gossamer_lab.experiments.experiment import Claim, Experiment, Figure, Grid, ResultRows, Scaled
from gossamer_lab.experiments.plots import heat, panels
from gossamer_lab.experiments.testbed.line import REAL, SIMULATED, measure_line
from gossamer_lab.experiments.testbed.workload import BROKERS, equation_5, payload_for, spr_of

WAYS: Final = (REAL, SIMULATED)
# 0 stands for publication flooding.
INTERESTED: Final = Scaled((0, 1, 3, 5, 7), tuple(range(BROKERS + 1)))
RATIOS: Final = Scaled([0.1, 0.4, 0.7, 1.0], [step / 10 for step in range(1, 11)])
TOPICS: Final = Scaled(40, 100)
# The part of the publications that is forwarded may differ so much from the equation: keep-alives,
# and the answers of brokers at the ends of the line, which say that nobody wanted the message.
TOLERANCE: Final = 0.05


def measure(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    """Nothing in it is random."""
    way, interested, topics, ratios = (
        parameters[name] for name in ("way", "interested", "topics", "ratios")
    )
    return asyncio.run(measure_line(way, interested, topics, ratios))


def figures(rows: ResultRows) -> list[Figure]:
    counts = sorted(count for count in rows.distinct("interested") if count)
    ratios = rows[0]["ratios"]
    measured = {way: _ratios(rows.where(way=way)) for way in rows.distinct("way")}
    expected = [[equation_5(count, _true(spr)) for count in counts] for spr in ratios]
    grouping = _grouping(rows)
    corrected = [[equation_5(count, _true(spr) * grouping) for count in counts] for spr in ratios]
    tables = {
        f"(a) {REAL}": measured[REAL],
        "(b) equation 5": expected,
        f"(c) equation 5, subscriptions at {grouping:.0%}": corrected,
        f"(d) {SIMULATED}": measured[SIMULATED],
    }
    drawing, axes = panels(2, 2)
    for axis, (title, table) in zip(axes, tables.items(), strict=True):
        image = heat(
            axis, table, [f"{c}/{BROKERS}" for c in counts], [f"{r:g}" for r in ratios], (0.0, 2.0)
        )
        axis.set_title(title, fontsize=10)
        axis.set(xlabel="IBR, interested brokers", ylabel="SPR")
    drawing.colorbar(image, ax=axes, label="T_SF / T_PF (below 1, dark: SF needs less)")
    return [
        Figure(
            "Figure 10",
            "Traffic of SF over that of PF",
            drawing,
            "The measured grid follows equation 5, (IBR·m − 1)/(m − 1) + SPR, but is shifted in "
            "favour of SF because brokers merge subscriptions that arrive together; panel (c) "
            "corrects the equation for it.",
            _claims(rows, measured, expected),
            "Panel (c) has the part of the bytes that telling really took on the real brokers, "
            "where the paper assumes that half of the messages are merged. Simulated subscriptions "
            "come one by one, so that nothing merges.",
        )
    ]


def _true(spr: float) -> float:
    """A payload is in whole bytes, so the ratio is not exactly the one asked for."""
    return spr_of(payload_for(spr))


def _ratios(rows: ResultRows) -> list[list[float]]:
    """T_SF / T_PF: a list for each SPR, over the interested brokers."""
    flooded = rows.only(interested=0)["flooded_bytes"]
    told = sorted((row for row in rows if row["interested"]), key=lambda row: row["interested"])
    return [
        [(row["told_bytes"] + row["forwarded_bytes"][index]) / flooded[index] for row in told]
        for index in range(len(flooded))
    ]


def _grouping(rows: ResultRows) -> float:
    """Bytes that telling took on real brokers, as a part of what it takes one by one."""
    sums: dict[str, int] = {
        way: sum(row["told_bytes"] for row in rows.where(way=way) if row["interested"])
        for way in WAYS
    }
    return sums[REAL] / sums[SIMULATED]


def _claims(
    rows: ResultRows, measured: dict[str, list[list[float]]], expected: list[list[float]]
) -> list[Claim]:
    claims = [_forwarding(rows)]
    for way, table in measured.items():
        pairs = [
            (ours, theirs)
            for row, other in zip(table, expected, strict=True)
            for ours, theirs in zip(row, other, strict=True)
        ]
        # Where the two cost the same, neither wins.
        wrong = [pair for pair in pairs if (pair[0] - 1) * (pair[1] - 1) < -1e-4]
        apart = max(abs(ours - theirs) for ours, theirs in pairs)
        merged = _grouping(rows)
        is_explained = merged < 1 and all(ours < theirs for ours, theirs in wrong)
        claims.append(
            Claim(
                f"equation 5 says which of SF and PF needs less ({way})",
                "but for merging",
                f"in {len(pairs) - len(wrong)} of {len(pairs)} cells; at most {apart:.2f} apart",
                not wrong,
                f"subscriptions that come together share a message and take {merged:.0%} of the "
                "bytes, as the paper saw with Mosquitto"
                if is_explained
                else "",
                headline=way == REAL,
            )
        )
    return claims


def _forwarding(rows: ResultRows) -> Claim:
    found = rows.where(way=REAL)
    flooded = found.only(interested=0)["flooded_bytes"]
    apart = max(
        abs(forwarded / all_of_them - equation_5(row["interested"], 0.0))
        for row in found
        if row["interested"]
        for forwarded, all_of_them in zip(row["forwarded_bytes"], flooded, strict=True)
    )
    return Claim(
        "publications cross (IBR·m − 1) of m − 1 links",
        "equation 4",
        f"at most {apart:.3f} apart on the real brokers",
        apart <= TOLERANCE,
    )


EXPERIMENT = Experiment(
    name="testbed-grid",
    title="When is it cheaper to flood subscriptions?",
    source="Hao et al., Figure 10 and equation 5",
    about=(
        "Seven broker processes in a line, all subscribers at one of them so that IBR of the "
        "brokers are interested, and topics none of which contains another. SPR is the size of all "
        "subscriptions over that of all publications. Bytes are counted on the links, and again in "
        "the simulator."
    ),
    grid=Grid({"way": WAYS, "interested": INTERESTED}, fixed={"topics": TOPICS, "ratios": RATIOS}),
    measure=measure,
    figures=figures,
    alone=True,
)
