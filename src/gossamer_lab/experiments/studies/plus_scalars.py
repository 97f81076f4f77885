"""Figure 2 of the MQTT+ paper: averages over sensors and 15 minutes, against equations 2 to 6."""

from __future__ import annotations

import os
from typing import Any, Final

from gossamer_lab.bench.plus import (
    NAME_BYTES,
    OPERATOR,
    PUBLISH_BYTES,
    SENSOR_PERIOD,
    WINDOW,
    run_numeric,
)
from gossamer_lab.bench.processes import resident_bytes
from gossamer_lab.experiments.experiment import (
    Claim,
    Experiment,
    Figure,
    Grid,
    ResultRows,
    Scaled,
    in_own_process,
)
from gossamer_lab.experiments.plots import STYLES, curve, from_zero, panels

MQTT, SKR, RPT = "MQTT", "SKR", "RPT"
WAYS: Final = (MQTT, SKR, RPT)
WAY_STYLES: Final = dict(zip(WAYS, STYLES, strict=False))
COUNTS: Final = Scaled((50, 10, 1), (100, 50, 10, 1), (300, 100, 50, 10, 1))
WINDOWS: Final = Scaled(1, 4)  # an hour
# How far from an approximate equation a measurement may be: “$AGGREGATE” is two bytes longer than
# the name that it replaces, which is 3 % of a result.
NEAR: Final = 0.05
_LEFT_OUT: Final = (
    "the equation leaves out the separator between names (a byte to their eight), the “;RPT” that "
    "asks for them, and the second byte of a length over 127"
)


def measure(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    """Nothing in it is random."""
    found: dict[str, Any] = in_own_process(_measure, dict(parameters))
    return found


def _measure(parameters: dict[str, Any]) -> dict[str, Any]:
    base = resident_bytes(os.getpid()) / 1024
    run = run_numeric(**parameters)
    return {
        "downlink": run.downlink,
        "cpu_seconds": run.cpu_seconds,
        "memory_kib": base + run.peak_kib,
        "state_kib": run.peak_kib,
    }


def equation(way: str, sensors: int, subscribers: int, windows: int) -> float:
    """Downlink bytes as the paper has them, (2) for MQTT and (3) with (4) for the others."""
    if way == MQTT:
        return windows * WINDOW / SENSOR_PERIOD * sensors * subscribers * PUBLISH_BYTES
    result = PUBLISH_BYTES + len(OPERATOR) + (NAME_BYTES * sensors if way == RPT else 0)
    return float(windows * subscribers * result)


def figures(rows: ResultRows) -> list[Figure]:
    subscribers = max(rows.distinct("subscribers"))
    drawing, axes = panels(3)
    reference = rows.mean("cpu_seconds", way=MQTT, sensors=1, subscribers=1)
    for way, style in WAY_STYLES.items():
        group = rows.where(way=way, subscribers=subscribers)
        curve(axes[0], group, "sensors", "downlink", style, way)
        curve(axes[1], group, "sensors", lambda row: row["cpu_seconds"] / reference, style, way)
        curve(axes[2], group, "sensors", lambda row: row["memory_kib"] / 1024, style, way)
        xs = sorted(group.distinct("sensors"))
        dots = [equation(way, x, subscribers, group[0]["windows"]) for x in xs]
        axes[0].plot(xs, dots, linestyle="none", marker="x", color="black", markersize=8)
    axes[0].plot([], [], linestyle="none", marker="x", color="black", label="equations 2 to 4")
    units = ("downlink, bytes", "processor time over that of m = n = 1", "memory, MiB")
    for axis, unit in zip(axes, units, strict=True):
        axis.set(xlabel=f"sensors m (subscribers n = {subscribers})", ylabel=unit, xscale="log")
    axes[0].set_yscale("log")
    axes[1].set_yscale("log")
    from_zero(axes[2])
    axes[0].legend()
    return [
        Figure(
            "Figure 2",
            "Averages of scalar measurements: downlink, processor, memory",
            drawing,
            "With SKR the downlink is that of one sensor, however many there are. MQTT+ takes less "
            "processor time than MQTT, and 1 to 2 % more memory.",
            _claims(rows),
            "The broker's core under a virtual clock: P = 44, W = 8, λ = 1/20 and λ_A = 1/900 as "
            "in the paper. Bytes are those of MQTT packets, without TCP and IP. Memory is that of "
            "the process after its start plus the most that the run took.",
        )
    ]


def _claims(rows: ResultRows) -> list[Claim]:
    claims = []
    for way, numbers in ((MQTT, "2"), (SKR, "3 and 4"), (RPT, "3 and 4")):
        apart_from = [
            row["downlink"] / equation(way, row["sensors"], row["subscribers"], row["windows"]) - 1
            for row in rows.where(way=way)
        ]
        claims.append(
            Claim(
                f"downlink with {way}",
                f"equation{'s' if way != MQTT else ''} {numbers}",
                f"{min(apart_from):+.1%} to {max(apart_from):+.1%} from it",
                max(abs(part) for part in apart_from) <= NEAR,
                _LEFT_OUT if way == RPT else "",
            )
        )
    most = max(rows.distinct("sensors"))
    subscribers = max(rows.distinct("subscribers"))
    both = {way: rows.only(way=way, sensors=most, subscribers=subscribers) for way in WAYS}
    rate = most * WINDOW / SENSOR_PERIOD
    for way, number, extra in ((SKR, 5, 0), (RPT, 6, NAME_BYTES * most)):
        printed = rate * PUBLISH_BYTES / (PUBLISH_BYTES + len(OPERATOR) + extra)
        ours = both[MQTT]["downlink"] / both[way]["downlink"]
        claims.append(
            Claim(
                f"MQTT+ ({way}) sends less than MQTT by, with m = {most}",
                f"{printed:,.0f} times (equation {number})",
                f"{ours:,.0f} times",
                abs(ours / printed - 1) <= NEAR,
                _LEFT_OUT if way == RPT else "",
                headline=True,
            )
        )
    saved = [both[way]["cpu_seconds"] / both[MQTT]["cpu_seconds"] for way in (SKR, RPT)]
    claims.append(
        Claim(
            f"MQTT+ takes less processor time than MQTT (m = {most}, n = {subscribers})",
            "as drawn",
            f"SKR {saved[0]:.0%}, RPT {saved[1]:.0%} of MQTT's",
            max(saved) < 1,
            headline=True,
        )
    )
    more = max(both[way]["memory_kib"] / both[MQTT]["memory_kib"] - 1 for way in (SKR, RPT))
    claims.append(
        Claim(
            "MQTT+ takes more memory by",
            "1 to 2 %",
            f"{more:+.1%} at most",
            more <= 0.02,
            "the values of the sensors are kept beside their sums",
            headline=True,
        )
    )
    return claims


EXPERIMENT = Experiment(
    name="plus-scalars",
    title="What does an average in the broker save?",
    source="Giambona et al., Figure 2 and equations 2 to 6",
    about=(
        "m sensors publish a number every 20 seconds; n subscribers want the average over all "
        "sensors of each 15 minutes. With MQTT they get every number. With MQTT+ they get the "
        "average, on a topic with one keyword in place of the sensors (SKR) or with their names "
        "(RPT)."
    ),
    grid=Grid({"sensors": COUNTS, "subscribers": COUNTS, "way": WAYS}, fixed={"windows": WINDOWS}),
    measure=measure,
    figures=figures,
    alone=True,
)
