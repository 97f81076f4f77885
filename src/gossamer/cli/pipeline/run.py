"""`gossamer pipeline run`: one pipeline, from the brokers' archives to a lake."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli.errors import CommandError, WrongUse
from gossamer.cli.pipeline import options, pipelines
from gossamer.cli.pipeline.asking import admins_of, pairs_of, seconds_of, source_options
from gossamer.cli.signals import end_with_input

if TYPE_CHECKING:
    from gossamer.spark.pipelines.pipeline import Pipeline, Settings


def run(
    name: Annotated[str, typer.Argument(help="Which; see gossamer pipeline list.")],
    brokers: Annotated[
        str, typer.Option(help="Replay services of the brokers, host:port between commas.")
    ] = "127.0.0.1:1885",
    lake: Annotated[str, typer.Option(help="Folder of tables, or any address Spark writes to.")] = (
        "lake"
    ),
    master: options.Master = "",
    once: Annotated[
        bool, typer.Option("--once", "--available-now", help="Read what is there and end.")
    ] = False,
    filter: Annotated[
        list[str] | None, typer.Option("--filter", "-f", help="Only topics under these filters.")
    ] = None,
    starting: Annotated[
        str, typer.Option(help="Where a first run begins: earliest, latest, or a time.")
    ] = "earliest",
    every: Annotated[str, typer.Option(help="Pause between the starts of batches.")] = "30 s",
    max_rows: Annotated[
        int | None, typer.Option(min=1, help="Most archived rows of one batch.")
    ] = None,
    lateness: Annotated[
        str, typer.Option(help="lake: later readings correct windows that were final.")
    ] = "1 h",
    event_time: Annotated[
        str, typer.Option(help="lake: field of JSON payloads with their time, as /ts.")
    ] = "",
    compact: Annotated[
        bool, typer.Option("--compact/--no-compact", help="lake: put small files together.")
    ] = True,
    window: Annotated[
        str, typer.Option(help="insight: how far back a recommendation looks.")
    ] = "24 h",
    fences: Annotated[
        str, typer.Option(help="geo: GeoJSON file of fences; else subscriptions with areas.")
    ] = "",
    admin: Annotated[
        list[str] | None, typer.Option(help="insight, geo: admin API of each broker, as a URL.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="The token of the admin APIs (or GOSSAMER_ADMIN_TOKEN).")
    ] = None,
    user: options.User = None,
    password_file: options.PasswordFile = None,
    tls: options.Tls = False,
    ca_file: options.CaFile = None,
    data_loss: Annotated[
        str, typer.Option(help="Rows that retention removed before they were read: fail or warn.")
    ] = "fail",
    conf: options.Conf = None,
    with_parent: Annotated[
        bool, typer.Option("--with-parent", help="Stop when the standard input ends.")
    ] = False,
) -> None:
    """Run a pipeline until Ctrl-C; the next run goes on where it was."""
    from datetime import timedelta

    catalog = pipelines()
    from gossamer.spark.pipelines.pipeline import PipelineError, Settings

    try:
        pipeline = catalog.find(name)
    except PipelineError as problem:
        raise WrongUse(str(problem)) from None
    settings = Settings(
        brokers=brokers,
        lake=lake,
        filter="\n".join(filter or ["#"]),
        starting=starting,
        source=source_options(user, password_file, tls, ca_file, max_rows, data_loss),
        is_once=once,
        every=seconds_of("--every", every),
        lateness=timedelta(seconds=seconds_of("--lateness", lateness)),
        event_field=event_time,
        window=timedelta(seconds=seconds_of("--window", window)),
        compacts=compact,
        fences=fences,
        admins=admins_of(admin or [], token_file),
    )
    of_spark = pairs_of("--conf", conf or [])
    _check(pipeline, settings, master)
    if with_parent:
        end_with_input()
    _run(pipeline, settings, master, of_spark)


def _check(pipeline: "Pipeline", settings: "Settings", master: str) -> None:
    """All that can be said without Spark, which takes its time to start."""
    from gossamer.spark.pipelines.checking import check
    from gossamer.spark.pipelines.pipeline import PipelineError
    from gossamer.spark.session import CONNECT

    if master.startswith(CONNECT):
        raise WrongUse(f"pipelines need a master, not a Connect server ({master}); see docs")
    try:
        check(pipeline, settings)
    except ValueError as problem:
        raise WrongUse(str(problem).replace("option ", "--", 1)) from None
    except PipelineError as problem:
        raise CommandError(f"{pipeline.name}: {problem}") from None


def _run(pipeline: "Pipeline", settings: "Settings", master: str, conf: dict[str, str]) -> None:
    from rich.console import Console

    from gossamer.cli.pipeline.showing import Progress, stopping_on_signals
    from gossamer.spark.java import NoJava
    from gossamer.spark.masters import NoMaster
    from gossamer.spark.pipelines.pipeline import PipelineError
    from gossamer.spark.pipelines.running import Run
    from gossamer.spark.session import LOCAL, start

    console = Console(stderr=True)
    with Progress(console, pipeline.name) as progress:
        try:
            spark = start(f"gossamer {pipeline.name}", master or LOCAL, conf)
        except (NoJava, NoMaster) as problem:
            raise CommandError(str(problem)) from None
        try:
            run = Run(spark, pipeline, settings)
            progress.note("reading the archives")
            with stopping_on_signals(run.stop, progress.note):
                lines = run.follow(progress.show)
        except PipelineError as problem:
            raise CommandError(f"{pipeline.name}: {problem}") from None
        finally:
            spark.stop()
    for line in lines:
        typer.echo(line)
