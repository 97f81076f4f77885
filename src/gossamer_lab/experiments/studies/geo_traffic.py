"""Geofences on a city's worth of moving clients: the traffic against a broker without them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from gossamer_lab.experiments.experiment import (
    Claim,
    Experiment,
    Figure,
    Grid,
    ResultRow,
    ResultRows,
    Scaled,
)
from gossamer_lab.experiments.geo.city import drive
from gossamer_lab.experiments.plots import STYLES, curve, from_zero, panels

VEHICLES: Final = Scaled((300, 150, 50), (1_000, 300, 100), (3_000, 1_000, 300))
# Metres; 0 is a broker without geofences.
RADII: Final = Scaled((0.0, 500.0, 2_000.0), (0.0, 250.0, 500.0, 1_000.0, 2_000.0))
ROUNDS: Final = Scaled(3, 10)


def measure(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    return asdict(drive(**parameters, seed=seed))


def figures(rows: ResultRows) -> list[Figure]:
    drawing, axes = panels(2)
    for style, radius in zip(STYLES, sorted(rows.distinct("radius")), strict=False):
        label = f"within {radius:g} m" if radius else "no geofences"
        group = rows.where(radius=radius)
        curve(axes[0], group, "vehicles", lambda row: _rate(row, "down"), style, label)
        curve(axes[1], group, "vehicles", lambda row: _rate(row, "up"), style, label)
    axes[0].set(
        xlabel="vehicles", ylabel="from the broker, KiB a second", xscale="log", yscale="log"
    )
    axes[1].set(xlabel="vehicles", ylabel="to the broker, KiB a second")
    from_zero(axes[1])
    axes[0].legend()
    return [
        Figure(
            "City",
            "Traffic of vehicles that want to hear of what is near",
            drawing,
            "Geolocation saves messages that do not concern a client. The paper has no "
            "measurements.",
            [_saved(rows), _cost(rows)],
            "20 by 20 km, 10 m/s, one message of 100 bytes a second from each vehicle.",
        )
    ]


def _rate(row: ResultRow, direction: str) -> float:
    """KiB a second."""
    return float(row[direction] / row["rounds"] / 1024)


def _both(rows: ResultRows, direction: str) -> tuple[float, float, float, int]:
    """Without fences and with a middle one, for the largest fleet; the radius and the fleet."""
    most = max(rows.distinct("vehicles"))
    radius = sorted(radius for radius in rows.distinct("radius") if radius)[0]
    without, within = (
        rows.mean(direction, vehicles=most, radius=wanted) for wanted in (0.0, radius)
    )
    return without, within, radius, most


def _saved(rows: ResultRows) -> Claim:
    without, within, radius, most = _both(rows, "down")
    return Claim(
        f"geofences save downlink traffic ({most:,} vehicles, {radius:g} m)",
        "claimed, not measured",
        f"{1 - within / without:.2%} less: {within / without * 100:.2f} % of the bytes",
        within < without,
        headline=True,
    )


def _cost(rows: ResultRows) -> Claim:
    without, within, _, _ = _both(rows, "up")
    return Claim(
        "telling the position with every message costs uplink",
        "“small”",
        f"{within / without - 1:+.0%} for messages of 100 bytes",
        True,
    )


EXPERIMENT = Experiment(
    name="geo-traffic",
    title="What do geofences save in a city?",
    source="Ihirwe et al. (no figures)",
    about=(
        "Vehicles drive through a city. Each tells something every second, and wants what others "
        "tell within some distance of where it is by then; without geofences it gets everything."
    ),
    grid=Grid({"vehicles": VEHICLES, "radius": RADII}, 3, {"rounds": ROUNDS}),
    measure=measure,
    figures=figures,
)
