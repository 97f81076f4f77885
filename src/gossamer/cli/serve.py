"""`gossamer serve`: its options and their help."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.broker_process import serve_broker
from gossamer.cli.serve_options import ServeOptions


def serve(
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", "-c", metavar="FILE", help="Configuration file (see gossamer check)."
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            "-p",
            metavar="PORT",
            min=0,
            max=65535,
            help="TCP port (1883); 0 picks a free one.",
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option("--host", metavar="ADDRESS", help="Address to listen on (127.0.0.1)."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FOLDER", help="Folder for the database."),
    ] = None,
    memory: Annotated[bool, typer.Option("--memory", help="Keep nothing on disk.")] = False,
    sync: Annotated[
        str | None,
        typer.Option(
            "--sync",
            metavar="MODE",
            help="What an acknowledged message survives: a power cut (full, the default), "
            "a crash (normal), a clean stop (off).",
        ),
    ] = None,
    with_parent: Annotated[
        bool, typer.Option("--with-parent", help="Stop at the end of standard input.")
    ] = False,
) -> None:
    """Run one broker; no configuration needed.

    Ctrl-C and SIGTERM stop it, SIGHUP reloads the configuration.
    """
    serve_broker(ServeOptions(config, port, host, data, memory, sync, with_parent))
