"""``gossamer experiment bloom``: the evaluation of the Bloom papers, and our search beside it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli.errors import CommandError

if TYPE_CHECKING:
    from rich.console import Console

    from gossamer.experiments.bloom.results import Results


def bloom(
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Three values a sweep, one draw a cell: for a first look."),
    ] = False,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Draws of the subscriptions for each cell.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 1,
    out: Annotated[Path, typer.Option(help="Where figures and numbers are kept.")] = Path(
        "out/bloom"
    ),
) -> None:
    """Count the look-ups of four searches in every cell of Figures 4 to 6; draw the panels."""
    from dataclasses import replace

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    try:
        from gossamer.experiments.bloom.drawing import draw
    except ModuleNotFoundError as problem:
        raise CommandError(f"{problem.name} is missing: pip install 'gossamer[plots]'") from None
    from gossamer.experiments.bloom.cells import cells
    from gossamer.experiments.bloom.measuring import FULL, QUICK
    from gossamer.experiments.bloom.results import run

    effort = QUICK if quick else FULL
    if trials is not None:
        effort = replace(effort, trials=trials)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise CommandError(f"cannot write to {out}: {problem.strerror}") from None
    chosen = list(cells(quick))
    console = Console()
    with Progress(
        TextColumn("{task.description:48}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=console,
        transient=True,
    ) as progress:
        task = progress.add_task("", total=len(chosen))
        results = run(
            chosen,
            effort,
            seed,
            lambda cell: progress.update(task, advance=1, description=str(cell)),
        )
    _show(console, results)
    results.save(out / "queries.csv")
    paths = [out / "queries.csv", *draw(results, out)]
    console.print("kept in " + ", ".join(str(path) for path in paths), soft_wrap=True)
    for check in results.checks():
        console.print(
            f"{'ok' if check.holds else 'MISSED'}: {check.text}", highlight=False, soft_wrap=True
        )
    missed = sum(not check.holds for check in results.checks())
    if missed:
        raise CommandError(
            f"{missed} of the results are not as expected; the list above says which"
        )


def _show(console: "Console", results: "Results") -> None:
    from rich import box
    from rich.table import Table

    from gossamer.bench.bloom_workload import Parameters
    from gossamer.experiments.bloom.cells import SWEEPS
    from gossamer.experiments.bloom.measuring import METHODS
    from gossamer.experiments.bloom.results import panels

    table = Table(title="Parameters (Table III)", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("parameter")
    table.add_column("default", justify="right")
    table.add_column("values")
    for sweep in SWEEPS:
        values = " ".join(f"{value:g}" for value in sweep.values)
        table.add_row(sweep.symbol, f"{getattr(Parameters(), sweep.field):g}", values)
    console.print(table)
    for preparation, sweep, panel in panels(results):
        table = Table(title=f"Queries {preparation}", title_justify="left", box=box.SIMPLE_HEAD)
        for column in (sweep.symbol, *METHODS):
            table.add_column(column, justify="right", min_width=8)
        for value, average in panel.items():
            table.add_row(f"{value:g}", *(f"{average[method]:,.1f}" for method in METHODS))
        console.print(table)
