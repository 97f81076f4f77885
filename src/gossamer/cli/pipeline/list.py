"""`gossamer pipeline list`: which pipelines there are."""

import typer

from gossamer.cli.pipeline import pipelines


def list() -> None:
    """List the pipelines that `gossamer pipeline run` knows."""
    for pipeline in pipelines().PIPELINES:
        typer.echo(f"{pipeline.name:8}  {pipeline.says}")
