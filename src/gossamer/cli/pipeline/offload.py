"""`gossamer pipeline offload`: answers the operators that a broker leaves to Spark."""

from pathlib import Path
from typing import Annotated, Any

import typer

from gossamer.cli.errors import CommandError
from gossamer.cli.pipeline import options, pipelines
from gossamer.cli.pipeline.asking import pairs_of, seconds_of, source_options

# Each operator is a query of its own, and most of them are small.
_DEFAULTS = {"spark.sql.shuffle.partitions": "4"}


def offload(
    url: Annotated[
        str, typer.Option("--url", "-L", help="The broker whose operators are answered.")
    ] = "mqtt://127.0.0.1:1883",
    brokers: Annotated[
        str, typer.Option(help="Replay services of all brokers that archive, between commas.")
    ] = "127.0.0.1:1885",
    checkpoints: Annotated[
        Path, typer.Option(help="Folder for what the queries remember; local or shared.")
    ] = Path("offload"),
    master: options.Master = "",
    lateness: Annotated[
        str, typer.Option(help="How far clocks may be apart; windows are answered that much later.")
    ] = "10 s",
    models: Annotated[
        str, typer.Option(help="Folder of the models on the executors, if not the usual one.")
    ] = "",
    user: options.User = None,
    password_file: options.PasswordFile = None,
    tls: options.Tls = False,
    ca_file: options.CaFile = None,
    conf: options.Conf = None,
) -> None:
    """Answer what a broker leaves to Spark ([plus.offload]), until Ctrl-C."""
    pipelines()
    from gossamer.cli.pipeline.showing import stopping_on_signals
    from gossamer.spark.java import NoJava
    from gossamer.spark.masters import NoMaster
    from gossamer.spark.offload.answering import answer
    from gossamer.spark.session import LOCAL, start
    from gossamer.spark.sink.errors import SinkError
    from gossamer.vision.settings import WorkerSettings

    source: dict[str, Any] = dict(source_options(user, password_file, tls, ca_file, None, "fail"))
    seconds = seconds_of("--lateness", lateness)
    try:
        spark = start(
            "gossamer offload", master or LOCAL, {**_DEFAULTS, **pairs_of("--conf", conf or [])}
        )
    except (NoJava, NoMaster) as problem:
        raise CommandError(str(problem)) from None
    try:
        answering = answer(
            spark,
            url=url,
            brokers=brokers,
            checkpoints=checkpoints,
            lateness=f"{seconds} seconds",
            vision=WorkerSettings(models) if models else None,
            note=typer.echo,
            **source,
        )
        with answering, stopping_on_signals(answering.stop, lambda _: typer.echo("stopping")):
            answering.run()
    except SinkError as problem:
        raise CommandError(str(problem)) from None
    finally:
        spark.stop()
