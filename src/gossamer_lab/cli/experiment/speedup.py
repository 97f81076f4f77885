"""``gossamer experiment speedup``: the same simulations on one core and on several."""

from typing import Annotated

import typer

from gossamer.cli.errors import CommandError
from gossamer_lab.cli.experiment import missing


def speedup(
    cores: Annotated[int, typer.Option(min=2, help="Number of cores to compare with one.")] = 2,
    count: Annotated[int, typer.Option("--cells", min=2, help="Simulations in the grid.")] = 12,
) -> None:
    """Run simulations with Spark on one core and on several, and print the speed-up."""
    from rich.console import Console

    console = Console()
    try:
        import gossamer_lab
        from gossamer.spark.java import NoJava
        from gossamer.spark.session import start
        from gossamer_lab.experiments.speedup import WANTED, SpeedupFailed, grid, measure
    except ModuleNotFoundError as problem:
        raise missing(problem) from None
    timings = []
    for number in (1, cores):
        try:
            spark = start("gossamer speedup", f"local[{number}]", packages=[gossamer_lab])
        except NoJava as problem:
            raise CommandError(str(problem)) from None
        try:
            with console.status(f"{count} simulations on {number} of the cores"):
                timings.append(measure(spark, number, grid(count)))
        except SpeedupFailed as problem:
            raise CommandError(str(problem)) from None
        finally:
            spark.stop()
        timing = timings[-1]
        console.print(
            f"local[{number}]: {timing.cells} simulations in {timing.seconds:.1f} s "
            f"({timing.work:.1f} s of work)",
            highlight=False,
        )
    ratio = timings[0].seconds / timings[1].seconds
    wanted = f"; at least {WANTED} is wanted" if cores == 2 else ""
    console.print(f"{ratio:.2f} times as fast on {cores} as on one{wanted}", highlight=False)
