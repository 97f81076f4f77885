"""What was measured, kept as files and held against the paper."""

import csv
from pathlib import Path

from gossamer.experiments.checks import Check
from gossamer.experiments.testbed.grid import Cell
from gossamer.experiments.testbed.shapes import Curve
from gossamer.experiments.testbed.workload import equation_5

# The part of the publications that is forwarded may differ so much from the equation: keep-alives,
# and the answers of brokers at the ends of the line, which say that nobody wanted the message.
TOLERANCE = 0.05

COLUMNS = (
    "interested",
    "spr",
    "pf_bytes",
    "told_bytes",
    "told_messages",
    "forwarded_bytes",
    "ratio",
    "equation",
)


def grid_checks(cells: list[Cell]) -> list[Check]:
    """Figure 10."""
    best = min(cells, key=lambda cell: cell.measured)
    worst = max(cells, key=lambda cell: cell.measured)
    forwarding = max(abs(cell.forwarding - equation_5(cell.interested, 0.0)) for cell in cells)
    return [
        Check(
            "publications cross (IBR × m - 1) of m - 1 links, as in equation 5",
            f"at most {forwarding:.3f} apart",
            forwarding <= TOLERANCE,
        ),
        _dividing_line(cells),
        Check(
            "SF saves most where few are interested and subscriptions are small",
            f"{best.measured:.2f} at IBR {best.interested}/7, SPR {best.spr:g}",
            best.interested == min(cell.interested for cell in cells)
            and best.spr == min(cell.spr for cell in cells),
        ),
        Check(
            "PF is better where most are interested and subscriptions are large",
            f"{worst.measured:.2f} at IBR {worst.interested}/7, SPR {worst.spr:g}",
            worst.measured > 1 and worst.interested == max(cell.interested for cell in cells),
        ),
    ]


def _dividing_line(cells: list[Cell]) -> Check:
    """The whole equation. Grouping explains a difference only if messages were saved, and only in
    favour of SF."""
    wrong = [cell for cell in cells if (cell.measured < 1) != (cell.expected < 1)]
    apart = max(abs(cell.measured - cell.expected) for cell in cells)
    told = sum(cell.told_messages for cell in cells)
    single = sum(cell.single_messages for cell in cells)
    is_explained = told < single and all(cell.measured < cell.expected for cell in wrong)
    return Check(
        "equation 5 says which of SF and PF needs less",
        f"in {len(cells) - len(wrong)} of {len(cells)} cells; ratios at most {apart:.3f} apart",
        not wrong,
        f"subscriptions that come together share a message ({told / single:.0%} as many as single "
        "ones), as the paper saw with Mosquitto"
        if is_explained
        else "",
    )


def shape_checks(curves: list[Curve]) -> list[Check]:
    """Figure 12."""
    by_shape: dict[str, dict[str, Curve]] = {}
    for curve in curves:
        by_shape.setdefault(curve.topology, {})[curve.mode] = curve
    checks: list[Check] = []
    for topology, by_mode in by_shape.items():
        pf, sf = by_mode["pf"], by_mode["sf"]
        checks.append(
            Check(
                f"{topology}: SF needs less than PF while publishing",
                f"{sf.publishing / pf.publishing:.0%} of it",
                sf.publishing < pf.publishing,
            )
        )
        checks.append(
            Check(
                f"{topology}: at SPR = 1, SF's worst case, it needs more in all",
                f"{sf.total / pf.total:.2f} times as much",
                sf.total > pf.total,
            )
        )
    flooding = {shape: by_mode["sf"].subscribing for shape, by_mode in by_shape.items()}
    others = max(count for shape, count in flooding.items() if shape != "linear")
    checks.append(
        Check(
            "SF floods far more in the line than in the other shapes",
            f"{flooding['linear'] / others:.2f} times as much",
            flooding["linear"] > others * (1 + TOLERANCE),
            "a tree of seven brokers has six links in any shape, and each carries a subscription "
            "once",
        )
    )
    return checks


def save(cells: list[Cell], curves: list[Curve], folder: Path) -> list[Path]:
    """As CSV."""
    grid, shapes = folder / "figure10.csv", folder / "figure12.csv"
    with grid.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for cell in cells:
            writer.writerow(
                (
                    cell.interested,
                    f"{cell.true_spr:.4f}",
                    cell.flooded_bytes,
                    cell.told_bytes,
                    cell.told_messages,
                    cell.forwarded_bytes,
                    f"{cell.measured:.4f}",
                    f"{cell.expected:.4f}",
                )
            )
    with shapes.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("topology", "mode", "seconds", "bytes"))
        for curve in curves:
            for seconds, count in curve.samples:
                writer.writerow((curve.topology, curve.mode, f"{seconds:.2f}", count))
    return [grid, shapes]
