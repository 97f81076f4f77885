"""`gossamer archive`: what a broker has archived, read from its files."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from gossamer.archive.folder import ArchiveError, MissingPyarrow
from gossamer.cli.errors import CommandError, WrongUse
from gossamer.topics.names import TopicError, check_filter

Folder = Annotated[
    Path, typer.Argument(help="The archive folder, or the folder of one broker in it.")
]
Uri = Annotated[
    str,
    typer.Option("--uri", help="Where sealed segments are, if not in the archive folder."),
]


@contextmanager
def archive_errors() -> Iterator[None]:
    """What is wrong with an archive, in one line."""
    try:
        yield
    except ArchiveError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"cannot read {error.filename}: {error.strerror}") from error
    except ImportError as error:
        raise CommandError(str(MissingPyarrow())) from error


def info(folder: Folder, uri: Uri = "") -> None:
    """Show the segments of an archive: offsets, times, rows and sizes."""
    with archive_errors():
        from gossamer.archive.offline import broker_folders, open_reader

        for one in broker_folders(folder):
            told = open_reader(one, uri).describe()
            typer.echo(f"{told['broker']}: offsets {told['earliest']} to {told['next'] - 1}")
            for segment in told["segments"]:
                kind = "sealed" if segment["sealed"] else "log"
                typer.echo(
                    f"  {segment['first']}-{segment['last']}  {kind}  {segment['rows']} rows  "
                    f"{segment['bytes']} bytes  "
                    f"{_moment(segment['min_time'])} to {_moment(segment['max_time'])}"
                )


def _moment(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1_000_000, UTC).isoformat(timespec="milliseconds")


def cat(
    folder: Folder,
    filter: Annotated[
        list[str] | None, typer.Option("--filter", "-f", help="Only topics that match this filter.")
    ] = None,
    start: Annotated[int, typer.Option(min=0, help="Start at this offset.")] = 0,
    end: Annotated[int | None, typer.Option(min=0, help="Stop before this offset.")] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=0, help="Stop after this many rows.")
    ] = None,
    uri: Uri = "",
) -> None:
    """Write archived messages as JSON lines; binary payloads are base64-encoded."""
    for one in filter or ():
        try:
            check_filter(one)
        except TopicError as error:
            raise WrongUse(f"--filter {one}: {error}") from error
    with archive_errors():
        from gossamer.archive.offline import broker_folders, open_reader
        from gossamer.archive.replay import limited
        from gossamer.archive.selection import FOREVER, Selection

        for broker in broker_folders(folder):
            reader = open_reader(broker, uri)
            first = max(start, reader.catalog.earliest)
            last = FOREVER if end is None else end
            for batch in limited(reader.read(Selection(filter, first, last)), limit):
                for row in batch.to_pylist():
                    typer.echo(as_line(row))


def as_line(row: dict[str, Any]) -> str:
    """Without what the message did not have."""
    shown = {key: value for key, value in row.items() if value is not None}
    shown["time"] = shown["time"].isoformat()
    for key in ("payload", "correlation_data"):
        if key in shown:
            try:
                shown[key] = shown[key].decode()
            except UnicodeDecodeError:
                shown[f"{key}_base64"] = base64.b64encode(shown.pop(key)).decode()
    if "user_properties" in shown:
        shown["user_properties"] = dict(shown["user_properties"])
    return json.dumps(shown, ensure_ascii=False)


def verify(
    folder: Folder,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair", help="Set damaged files aside and keep the rows that can be read."
        ),
    ] = False,
    uri: Uri = "",
) -> None:
    """Read and check a whole archive; exit 1 if there is a problem."""
    problems: list[str] = []
    with archive_errors():
        from gossamer.archive import offline as inspecting

        for broker in inspecting.broker_folders(folder):
            if repair:
                for line in inspecting.repair(broker, uri):
                    typer.echo(line)
            problems += inspecting.verify(broker, uri)
    for problem in problems:
        typer.echo(problem, err=True)
    if problems:
        raise CommandError(f"{folder}: {len(problems)} problems")
    typer.echo("no problems found")
