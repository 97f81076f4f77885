"""The options that `run` and `offload` share: the cluster, and the login at the brokers."""

from pathlib import Path
from typing import Annotated

import typer

Master = Annotated[
    str, typer.Option(help="spark://HOST:PORT, yarn, k8s://…; this machine's cores if none.")
]
Conf = Annotated[
    list[str] | None, typer.Option("--conf", help="A setting of Spark, as NAME=VALUE.")
]
User = Annotated[str | None, typer.Option("--user", "-u", help="Login at the brokers.")]
PasswordFile = Annotated[Path | None, typer.Option(help="File with the login's password.")]
Tls = Annotated[bool, typer.Option("--tls", help="The replay services speak TLS.")]
CaFile = Annotated[Path | None, typer.Option(help="Authorities to trust.")]
