"""``gossamer experiment list``: what there is, and how much of it has run."""

from gossamer_lab.cli.experiment import RESULTS, Results, Scale, known_scale, missing


def list(scale: Scale = "small", out: Results = RESULTS) -> None:
    """List the experiments, what they reproduce, and how many cells are finished."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from gossamer_lab.experiments.catalogue import everything

    try:
        from gossamer_lab.experiments.run import plan
    except ModuleNotFoundError as problem:
        raise missing(problem) from None
    known_scale(scale)
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("name", "repeats", "finished"):
        table.add_column(column, justify="right" if column == "finished" else "left")
    for experiment in everything():
        planned = plan(experiment, scale, out)
        finished = f"{planned.finished} of {len(planned.grid)}"
        table.add_row(experiment.name, experiment.source, finished)
    Console().print(table)
