"""`gossamer ctl`: commands that speak with a running broker through its admin API."""

import time
from pathlib import Path
from typing import Annotated, Final

import typer

from gossamer.cli.admin_api import DEFAULT_URL, Json, TokenFile, Url, call, part, show
from gossamer.cli.errors import CommandError, WrongUse
from gossamer.cli.progress import Advance
from gossamer.mesh.settings import MODES
from gossamer.net.budgets import shown

# What the tables show; --json shows all.
COLUMNS: Final = {
    "sessions": (
        "client_id user address connected subscriptions queued queued_bytes full dropped damaged"
        " inflight"
    ),
    "subscriptions": "client_id filter qos",
    "retained": "topic qos size publisher user",
    "memory": "table bytes budget client_budget refused evicted largest_client largest_bytes",
    "loop": "held_by long_turns longest_ms",
    "places": "name version source corners subscriptions",
    "mesh": (
        "neighbour state cost interests_told interests_held messages_received messages_sent "
        "bytes_received bytes_sent queued"
    ),
    "mesh-choices": "branch mode ratio ibr spr interested brokers published_bytes subscribed_bytes",
    "mesh-interests": "neighbour told_by filter rules area",
    "mesh-windows": (
        "operator form windows told raw_bytes partial_bytes waiting missing corrections late"
    ),
}
BACKUP_POLL_SECONDS: Final = 0.2
METHODS: Final = {"add": "POST", "remove": "DELETE"}


def reload(url: Url = DEFAULT_URL, token_file: TokenFile = None) -> None:
    """Reload configuration, certificates, passwords and rules; invalid files are refused."""
    answer = call("POST", "/v1/reload", url, token_file)
    for note in answer["notes"]:
        typer.echo(f"note: {note}")
    typer.echo("configuration reloaded")


def sessions(url: Url = DEFAULT_URL, token_file: TokenFile = None, json: Json = False) -> None:
    """List sessions."""
    show("/v1/sessions", COLUMNS["sessions"], url, token_file, json)


def subscriptions(
    client: Annotated[str | None, typer.Option("--client", help="Only this client.")] = None,
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """List subscriptions."""
    query = None if client is None else {"client_id": client}
    show("/v1/subscriptions", COLUMNS["subscriptions"], url, token_file, json, query)


def retained(
    filter: Annotated[str, typer.Argument(help="A topic filter.")] = "#",
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """List retained messages (--json includes payloads)."""
    show("/v1/retained", COLUMNS["retained"], url, token_file, json, {"filter": filter})


def memory(url: Url = DEFAULT_URL, token_file: TokenFile = None, json: Json = False) -> None:
    """Show memory use by table: bytes, budgets and the largest holders."""
    show("/v1/memory", COLUMNS["memory"], url, token_file, json)
    if not json:
        answer = call("GET", "/v1/memory", url, token_file, {"limit": 1})
        memory, budgets = answer["memory"], answer["budgets"]
        typer.echo(
            f"all budgets together: {shown(budgets)}, {budgets / memory:.0%} of {shown(memory)} "
            f"({answer['memory_source']})"
        )


def loop(url: Url = DEFAULT_URL, token_file: TokenFile = None, json: Json = False) -> None:
    """Show what held the event loop for more than 50 ms, and its longest turn lately."""
    show("/v1/loop", COLUMNS["loop"], url, token_file, json)
    if not json:
        answer = call("GET", "/v1/loop", url, token_file, {"limit": 1})
        by = answer["worst_held_by"]
        typer.echo(
            f"longest turn of the last minute: {answer['worst_ms']} ms"
            + (f", {by}" if by else "")
            + f"\n{answer['long_turns']} long turns of {answer['turns']}; the collector ran "
            f"{answer['collector_runs']} times, {answer['collector_seconds']} s in all"
        )


def backup(
    folder: Annotated[
        Path, typer.Argument(help="On the broker's machine; it must not be there yet.")
    ],
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
) -> None:
    """Copy the store and the archive while the broker runs; `serve --data FOLDER` starts from it.

    Everything that was acknowledged before is in it.
    """
    view = call("POST", "/v1/backup", url, token_file, {"folder": str(folder.absolute())})
    with Advance("pages", 1.0) as advance:
        while view["state"] == "running":
            share = view["pages_done"] / max(1, view["pages"])
            advance.show(share, f"{view['pages_done']} of {view['pages']}")
            time.sleep(BACKUP_POLL_SECONDS)
            view = call("GET", "/v1/backup", url, token_file)
    if view["state"] != "done":
        raise CommandError(view["problem"])
    typer.echo(
        f"{view['folder']} has {shown(view['bytes'])}: the store"
        + (f" and {view['segments']} files of the archive" if view["segments"] else "")
    )
    if view["sealed_elsewhere"]:
        typer.echo(f"sealed segments stay where they are: {view['sealed_elsewhere']}")


def disconnect(
    client_id: Annotated[str, typer.Argument(help="The client id.")],
    discard: Annotated[
        bool, typer.Option("--discard", help="End the session too and discard its queued messages.")
    ] = False,
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
) -> None:
    """Disconnect a client."""
    query = {"discard": "true"} if discard else None
    call("DELETE", f"/v1/sessions/{part(client_id)}", url, token_file, query)
    typer.echo(f"{client_id} disconnected")


def places(url: Url = DEFAULT_URL, token_file: TokenFile = None, json: Json = False) -> None:
    """List the places that subscriptions can name (--json includes their GeoJSON)."""
    show("/v1/places", COLUMNS["places"], url, token_file, json)


def place(
    action: Annotated[str, typer.Argument(help="`add` or `remove`.")],
    name: Annotated[str, typer.Argument(help="The place's name.")],
    file: Annotated[
        Path | None, typer.Argument(help="With `add`: a GeoJSON file with its area.")
    ] = None,
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
) -> None:
    """Add, change or remove a place, on all brokers of a mesh; subscriptions to it follow."""
    if action not in METHODS:
        raise WrongUse(f"the action must be add or remove, not {action!r}")
    if (action == "add") != (file is not None):
        raise WrongUse("add takes a GeoJSON FILE, and remove none")
    sent = b""
    if file is not None:
        try:
            sent = file.read_bytes()
        except OSError as error:
            raise WrongUse(f"{file}: {error.strerror}") from error
    answer = call(METHODS[action], f"/v1/places/{part(name)}", url, token_file, None, sent)
    typer.echo(f"{name} removed" if file is None else f"{name} is version {answer['version']}")


def mesh(url: Url = DEFAULT_URL, token_file: TokenFile = None, json: Json = False) -> None:
    """List the links to other brokers (--json includes control traffic)."""
    show("/v1/mesh", COLUMNS["mesh"], url, token_file, json)


def mesh_forget(
    name: Annotated[str, typer.Argument(help="The neighbour's name.")],
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
) -> None:
    """Remove a neighbour for good, with its queue and its interest."""
    call("DELETE", f"/v1/mesh/{part(name)}", url, token_file)
    typer.echo(f"{name} removed")


def mesh_mode(
    mode: Annotated[str, typer.Argument(help=f"One of {', '.join(MODES)}.")],
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
) -> None:
    """Change how the brokers of a mesh share interest; no message is lost."""
    if mode not in MODES:
        raise WrongUse(f"MODE must be one of {', '.join(MODES)}, not {mode!r}")
    call("POST", f"/v1/mesh/mode/{mode}", url, token_file)
    typer.echo(f"changing the mesh to mode {mode}; gossamer ctl mesh shows the mode of each link")


def mesh_choices(url: Url = DEFAULT_URL, token_file: TokenFile = None, json: Json = False) -> None:
    """List the topic branches that mode auto has measured, with its choices."""
    show("/v1/mesh/choices", COLUMNS["mesh-choices"], url, token_file, json)


def mesh_interests(
    neighbour: Annotated[
        str | None, typer.Option("--neighbour", help="Only of the link to this one.")
    ] = None,
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """List what the brokers at both ends of each link told: filters, with their rules and areas."""
    query = None if neighbour is None else {"neighbour": neighbour}
    show("/v1/mesh/interests", COLUMNS["mesh-interests"], url, token_file, json, query)


def mesh_windows(url: Url = DEFAULT_URL, token_file: TokenFile = None, json: Json = False) -> None:
    """List subscribed aggregates: windows of time, how each is counted and who was missing in the
    last; aggregates over topics, and the bytes a second of messages and of values."""
    show("/v1/mesh/windows", COLUMNS["mesh-windows"], url, token_file, json)


def peer(
    action: Annotated[str, typer.Argument(help="`add` or `remove`.")],
    address: Annotated[str, typer.Argument(help="HOST:PORT of one of the peer's listeners.")],
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
) -> None:
    """Add or remove a peer to dial, until the next restart.

    Removing it takes the link down; `ctl mesh-forget` then frees the state kept for that neighbour.
    """
    host, _, port = address.rpartition(":")
    if action not in METHODS:
        raise WrongUse(f"the action must be add or remove, not {action!r}")
    if not host or not port.isdigit():
        raise WrongUse(f"the address must be HOST:PORT such as 10.0.0.7:1883, not {address!r}")
    query = {"host": host.strip("[]"), "port": port}
    call(METHODS[action], "/v1/mesh/peers", url, token_file, query)
    typer.echo(f"{address} is {'dialled' if action == 'add' else 'not dialled any more'}")
