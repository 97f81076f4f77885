"""`gossamer migrate`: the configuration of another broker, as one of ours."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import CommandError, WrongUse


def mosquitto(
    file: Annotated[
        Path, typer.Argument(help="mosquitto.conf; files that it includes are read too.")
    ],
    to: Annotated[
        Path, typer.Option("--to", metavar="FOLDER", help="Output folder; created if missing.")
    ] = Path("gossamer"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
) -> None:
    """Convert mosquitto.conf, its password and ACL files; report what has no counterpart."""
    import tomli_w

    from gossamer.net.auth.passwords import write_entries
    from gossamer.net.config.value_types import ConfigError
    from gossamer.net.migration.mosquitto import PASSWORDS, RULES, migrate

    try:
        done = migrate(file)
    except ConfigError as error:
        raise WrongUse("; ".join(error.problems)) from error
    except ValueError as error:
        raise WrongUse(f"{file}: {error}") from error
    config = to / "gossamer.toml"
    report = to / "migration.txt"
    written = [config, report]
    written += [to / RULES] if "permissions" in done.config else []
    written += [to / PASSWORDS] if "auth" in done.config else []
    taken = [path for path in written if path.exists()]
    if taken and not force:
        raise CommandError(
            f"{taken[0]} already exists: choose another folder with --to, or add --force"
        )
    try:
        to.mkdir(parents=True, exist_ok=True)
        config.write_text(tomli_w.dumps(done.config), encoding="utf-8")
        if to / RULES in written:
            (to / RULES).write_text(tomli_w.dumps({"rule": done.rules}), encoding="utf-8")
        if to / PASSWORDS in written:
            entries = dict(line.split(":", 1) for line in done.passwords)
            write_entries(to / PASSWORDS, entries)
        report.write_text(done.report.text(), encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}") from error
    typer.echo(done.report.text())
    typer.echo(f"written: {', '.join(str(path) for path in written)}")
    typer.echo(f"next:    gossamer check {config} && gossamer serve --config {config}")
