"""What was measured, kept as files and held against the paper."""

import csv
from dataclasses import dataclass
from pathlib import Path

from gossamer.experiments.testbed.grid import Cell
from gossamer.experiments.testbed.shapes import Curve

# A ratio may differ so much from equation 5: keep-alives, and the answers of brokers at the ends
# of the line, which say that nobody wanted the message.
TOLERANCE = 0.05


@dataclass(frozen=True)
class Check:
    """A claim of the paper beside our number."""

    claim: str
    ours: str
    holds: bool


def grid_checks(cells: list[Cell]) -> list[Check]:
    """Figure 10."""
    apart = max(abs(cell.measured - cell.expected) for cell in cells)
    corrected = max(abs(cell.measured - cell.corrected) for cell in cells)
    grouping = sum(cell.grouping for cell in cells) / len(cells)
    clear = [cell for cell in cells if abs(cell.corrected - 1) > TOLERANCE]
    agreeing = sum((cell.measured < 1) == (cell.corrected < 1) for cell in clear)
    best = min(cells, key=lambda cell: cell.measured)
    worst = max(cells, key=lambda cell: cell.measured)
    return [
        Check(
            "measured ratios follow equation 5, but for grouped subscriptions",
            f"at most {apart:.3f} apart, {corrected:.3f} with the grouping that was measured "
            f"({grouping:.0%} of the single messages' bytes)",
            corrected <= TOLERANCE,
        ),
        Check(
            "equation 5, with grouping, says which of SF and PF needs less",
            f"it does in {agreeing} of {len(clear)} cells",
            agreeing == len(clear),
        ),
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
    spread = max(flooding.values()) / min(flooding.values())
    checks.append(
        Check(
            "SF floods most in the line",
            "a tree of seven has six links in any shape, so we expect no difference: "
            f"the largest of the three is {spread:.2f} times the smallest",
            spread < 1 + 2 * TOLERANCE,
        )
    )
    return checks


def save(cells: list[Cell], curves: list[Curve], folder: Path) -> list[Path]:
    """As CSV."""
    grid, shapes = folder / "figure10.csv", folder / "figure12.csv"
    with grid.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("interested", "spr", "pf_bytes", "told", "forwarded", "ratio", "equation"))
        for cell in cells:
            writer.writerow(
                (
                    cell.interested,
                    f"{cell.true_spr:.4f}",
                    cell.flooded_bytes,
                    cell.told_bytes,
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
