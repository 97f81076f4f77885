"""``gossamer experiment testbed``: the SSF paper's seven brokers, as real processes."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli.errors import CommandError

if TYPE_CHECKING:
    from rich.console import Console

    from gossamer.experiments.testbed.grid import Cell
    from gossamer.experiments.testbed.shapes import Curve


def testbed(
    quick: Annotated[
        bool, typer.Option("--quick", help="Nine cells, short phases, two modes: for a first look.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Where figures and numbers are kept.")] = Path(
        "out/testbed"
    ),
) -> None:
    """Count bytes on the links of seven brokers: Figure 10 against equation 5, and Figure 12."""
    from rich.console import Console

    try:
        from gossamer.experiments.testbed.drawing import draw
    except ModuleNotFoundError as problem:
        raise CommandError(f"{problem.name} is missing: pip install 'gossamer[plots]'") from None
    from gossamer.experiments.testbed import grid, results, shapes
    from gossamer.experiments.testbed.bed import TestbedError
    from gossamer.net.local.broker import LocalMeshError

    console = Console()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise CommandError(f"cannot write to {out}: {problem.strerror}") from None
    try:
        with console.status("starting") as status:
            cells = asyncio.run(
                grid.measure_grid(grid.QUICK if quick else grid.FULL, status.update)
            )
            curves = asyncio.run(
                shapes.measure_shapes(shapes.QUICK if quick else shapes.FULL, status.update)
            )
    except (TestbedError, LocalMeshError) as problem:
        raise CommandError(str(problem)) from None
    _show(console, cells, curves)
    paths = [*results.save(cells, curves, out), *draw(cells, curves, out)]
    console.print("kept in " + ", ".join(str(path) for path in paths), soft_wrap=True)
    checks = [*results.grid_checks(cells), *results.shape_checks(curves)]
    for check in checks:
        reason = f" ({check.because})" if check.verdict == "DIFFERS" else ""
        text = f"{check.verdict}: the paper: {check.claim}; here: {check.ours}{reason}"
        console.print(text, highlight=False, soft_wrap=True)
    missed = sum(check.verdict == "MISSED" for check in checks)
    if missed:
        raise CommandError(f"{missed} differences from the paper that nothing explains; see above")


def _show(console: "Console", cells: "list[Cell]", curves: "list[Curve]") -> None:
    from rich import box
    from rich.table import Table

    counts = sorted({cell.interested for cell in cells})
    table = Table(
        title="T_SF / T_PF, measured (equation 5)", title_justify="left", box=box.SIMPLE_HEAD
    )
    table.add_column("SPR", justify="right")
    for count in counts:
        table.add_column(f"IBR {count}/7", justify="right")
    for ratio in sorted({cell.spr for cell in cells}, reverse=True):
        row = {cell.interested: cell for cell in cells if cell.spr == ratio}
        shown = [f"{row[count].measured:.2f} ({row[count].expected:.2f})" for count in counts]
        table.add_row(f"{ratio:g}", *shown)
    console.print(table)
    table = Table(title="Bytes on all links, SPR = 1", title_justify="left", box=box.SIMPLE_HEAD)
    for column in ("topology", "mode", "subscribing", "publishing", "in all"):
        table.add_column(column, justify="left" if column in ("topology", "mode") else "right")
    for curve in curves:
        numbers = (curve.subscribing, curve.publishing, curve.total)
        table.add_row(curve.topology, curve.mode, *(f"{number:,}" for number in numbers))
    console.print(table)
