"""``gossamer experiment report``: one page from everything that has run."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer_lab.cli.experiment import RESULTS, Results, Scale, known_scale, made_folder, missing


def report(
    scale: Scale = "small",
    out: Results = RESULTS,
    page: Annotated[
        Path | None,
        typer.Option(help="Output file; by default in the folder of results."),
    ] = None,
    remark: Annotated[str, typer.Option(help="A sentence for the top of the page.")] = "",
    pictures: Annotated[bool, typer.Option(help="Write the figures as PNG files too.")] = True,
    open_it: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Write the report: each figure with the paper's result and ours."""
    from rich.console import Console

    from gossamer_lab.experiments.catalogue import everything

    known_scale(scale)
    made_folder(out)
    try:
        from gossamer_lab.experiments.report.content import gather
        from gossamer_lab.experiments.report.files import write, write_pictures

        gathered = gather(everything(), scale, out)
    except ModuleNotFoundError as problem:
        raise missing(problem) from None
    gathered.remark = remark
    written = write(gathered, page or out / f"report-{scale}.html")
    console = Console()
    console.print(f"the report is in {written}", soft_wrap=True)
    if pictures:
        files = write_pictures(gathered, out / f"figures-{scale}")
        console.print(f"{len(files)} figures are in {out / f'figures-{scale}'}", soft_wrap=True)
    if open_it:
        typer.launch(str(written))
