"""`gossamer archive info`: which offsets and times there are, and in which files."""

from datetime import UTC, datetime

import typer

from gossamer.cli.archive import Folder, Uri, archive_errors


def info(folder: Folder, uri: Uri = "") -> None:
    """Show the segments of an archive: offsets, times, rows and sizes."""
    with archive_errors():
        from gossamer.storage.archive.inspecting import broker_folders, open_reader

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
