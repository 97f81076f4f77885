"""`gossamer mesh`: several brokers on this machine, joined, with a live table of their links."""

import signal
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Final

import typer

from gossamer.cli.errors import CommandError, WrongUse
from gossamer.cli.signals import ignore_signals
from gossamer.mesh.settings import MODES
from gossamer.net.local.topologies import TOPOLOGIES

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from gossamer.net.local.mesh import LinkState, LocalMesh

REFRESH_SECONDS: Final = 1.0
MOST_BROKERS: Final = 64  # each is a process
WIDTH_OF_A_PIPE: Final = 120


class _MeshStopped(Exception):
    """Ctrl-C or SIGTERM."""


def mesh(
    brokers: Annotated[
        int, typer.Option(min=1, max=MOST_BROKERS, help="Number of brokers; each is a process.")
    ] = 7,
    topology: Annotated[
        str, typer.Option(help=f"How they are linked: {', '.join(TOPOLOGIES)}.")
    ] = "binary",
    mode: Annotated[
        str, typer.Option(help=f"How they share interest: {', '.join(MODES)}.")
    ] = "ssf",
    port: Annotated[
        int, typer.Option(min=0, max=65_000, help="Port of the first broker; 0 picks free ports.")
    ] = 0,
    data: Annotated[
        Path | None, typer.Option(help="Keep keys, configurations and stores in this folder.")
    ] = None,
    memory: Annotated[bool, typer.Option("--memory", help="Keep nothing on disk.")] = False,
    once: Annotated[bool, typer.Option("--once", help="Print the table once and stop.")] = False,
) -> None:
    """Run several brokers on this machine as a mesh (Ctrl-C stops them all)."""
    from rich.console import Console

    from gossamer.net.local.broker import LocalMeshError
    from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan

    _check("--topology", topology, TOPOLOGIES)
    _check("--mode", mode, MODES)
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH_OF_A_PIPE)
    with ExitStack() as stack:
        if data is None:
            data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gossamer-mesh-")))
        for number in (signal.SIGINT, signal.SIGTERM):
            stack.callback(signal.signal, number, signal.signal(number, _stop))
        try:
            running = LocalMesh(data, LocalMeshPlan(brokers, topology, mode, port, memory))
            # From here on a second signal must not interrupt the stopping.
            stack.callback(running.stop)
            stack.callback(ignore_signals)
            with console.status("starting") as status:
                running.start(status.update)
            addresses = ", ".join(f"{one.name} 127.0.0.1:{one.port}" for one in running.brokers)
            console.print(f"the mesh is up, in mode {mode}: {addresses}", soft_wrap=True)
            if once:
                console.print(_table(running.links(), None, 0.0))
            else:
                _watch(console, running)
        except _MeshStopped:
            console.print("stopping")
        except LocalMeshError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"cannot start a mesh: {error}") from error


def _check(option: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise WrongUse(f"{option} must be one of {', '.join(known)}, not {value!r}")


def _stop(number: int, frame: FrameType | None) -> None:
    raise _MeshStopped


def _watch(console: "Console", running: "LocalMesh") -> None:
    """Until somebody stops it."""
    from rich.live import Live

    before: list[LinkState] | None = None
    read_at = time.monotonic()
    with Live(console=console, auto_refresh=False, transient=True) as live:
        while True:
            links, now = running.links(), time.monotonic()
            live.update(_table(links, before, now - read_at), refresh=True)
            before, read_at = links, now
            time.sleep(REFRESH_SECONDS)


def _table(links: "list[LinkState]", before: "list[LinkState] | None", seconds: float) -> "Table":
    """One row a link; → is from the first broker to the second."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("link", no_wrap=True)
    table.add_column("up")
    for title in ("interest →", "interest ←", "msgs →", "msgs ←", "bytes →", "bytes ←"):
        table.add_column(title, justify="right")
    for title in ("control", "queued", "msgs/s"):
        table.add_column(title, justify="right")
    for number, link in enumerate(links):
        rate = ""
        if before is not None and seconds > 0:
            passed = link.sum("messages_sent") - before[number].sum("messages_sent")
            rate = f"{passed / seconds:,.0f}"
        counts = [
            told.get(field, 0)
            for field in ("interests_told", "messages_sent", "bytes_sent")
            for told in (link.outward, link.inward)
        ]
        counts += [link.sum("control_bytes_sent"), link.sum("queued")]
        table.add_row(
            f"{link.near} – {link.far}",
            "yes" if link.stands else "no",
            *(f"{count:,}" for count in counts),
            rate,
        )
    return table
