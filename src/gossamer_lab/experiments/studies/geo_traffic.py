"""Geofences on a city's worth of moving clients: the traffic against a broker without them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from gossamer_lab.experiments.bands import band
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
from gossamer_lab.experiments.geo.city import drive
from gossamer_lab.experiments.plots import STYLES, from_zero, line, panels

# 0 is a broker without geofences.
RADII: Final = (0.0, 250.0, 500.0, 1_000.0, 2_000.0)
SMALL_RADII: Final = (0.0, 500.0, 2_000.0)
VEHICLES: Final = {SMALL: (50, 150, 300), LARGE: (300, 1_000, 3_000)}
PAPER_VEHICLES: Final = (100, 300, 1_000)
ROUNDS: Final = {SMALL: 3}
PAPER_ROUNDS: Final = 10


def grid(scale: str) -> list[Cell]:
    chosen: list[dict[str, Any]] = [
        {"vehicles": vehicles, "radius": radius, "rounds": ROUNDS.get(scale, PAPER_ROUNDS)}
        for vehicles in reversed(VEHICLES.get(scale, PAPER_VEHICLES))
        for radius in (SMALL_RADII if scale == SMALL else RADII)
    ]
    return cells(chosen, range(1, 4))


def measure(parameters: Parameters, seed: int) -> Measures:
    return asdict(drive(**parameters, seed=seed))


def figures(rows: ResultRows) -> list[Figure]:
    drawing, axes = panels(2)
    for style, radius in zip(STYLES, sorted(rows.distinct("radius")), strict=False):
        label = f"within {radius:g} m" if radius else "no geofences"
        by_count = sorted(rows.where(radius=radius).by("vehicles").items())
        xs = [count for count, _ in by_count]
        for axis, direction in zip(axes, ("down", "up"), strict=True):
            rates = [
                band([row[direction] / row["rounds"] / 1024 for row in group])
                for _, group in by_count
            ]
            line(axis, xs, rates, style, label)
    axes[0].set(xlabel="vehicles", ylabel="from the broker, KiB a second")
    axes[1].set(xlabel="vehicles", ylabel="to the broker, KiB a second")
    axes[0].set_xscale("log")
    axes[0].set_yscale("log")
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


def _both(rows: ResultRows, direction: str) -> tuple[float, float, float, int]:
    """Without fences and with a middle one, for the largest fleet; the radius and the fleet."""
    most = max(rows.distinct("vehicles"))
    radius = sorted(radius for radius in rows.distinct("radius") if radius)[0]
    without, within = (
        band(rows.where(vehicles=most, radius=wanted).values(direction)).mean
        for wanted in (0.0, radius)
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
    grid=grid,
    measure=measure,
    figures=figures,
)
