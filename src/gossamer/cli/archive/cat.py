"""`gossamer archive cat`: archived messages as JSON lines."""

import base64
import json
from typing import Annotated, Any

import typer

from gossamer.cli.archive import Folder, Uri, archive_errors
from gossamer.cli.errors import WrongUse
from gossamer.topics.names import TopicError, check_filter


def cat(
    folder: Folder,
    filter: Annotated[list[str] | None, typer.Option("--filter", "-f", help="Only these.")] = None,
    start: Annotated[int, typer.Option(min=0, help="First offset.")] = 0,
    end: Annotated[int | None, typer.Option(min=0, help="Offset to stop before.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=0, help="Most rows.")] = None,
    uri: Uri = "",
) -> None:
    """Write archived messages as JSON lines; payloads that are no text are in base64."""
    for one in filter or ():
        try:
            check_filter(one)
        except TopicError as error:
            raise WrongUse(f"--filter {one}: {error}") from error
    with archive_errors():
        from gossamer.storage.archive.inspecting import broker_folders, open_reader
        from gossamer.storage.archive.selection import FOREVER, Selection
        from gossamer.storage.archive.serving import limited

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
