"""``gossamer bench start``: how long a broker with a full store takes until it serves.

A store is filled once, through the broker itself. Every run starts on a copy of it: until a client
that comes again and again has its first CONNACK, until a retained message comes to a subscription,
and until the broker says in its log that everything is read.
"""

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from gossamer.broker.restore import ALL_READ
from gossamer.cli.errors import CommandError, WrongUse
from gossamer.net.local.ports import free_port
from gossamer_lab import tables
from gossamer_lab.bench import harness, peers, report
from gossamer_lab.bench.load import packets, state
from gossamer_lab.bench.load.client import GeneratorError, LoadClient, close
from gossamer_lab.bench.processes import cpu_seconds, resident_bytes

RETAINED: Final = 200_000
SESSIONS: Final = 20_000
QUEUED_EACH: Final = 10
QUICK_SCALE: Final = 0.02
# Between two tries of the client that comes again and again.
TRY_SECONDS: Final = 0.005
PATIENCE_SECONDS: Final = 120.0
STOP_SECONDS: Final = 60.0
# Wanted: clients are served within a second, whatever is stored.
MOST_SECONDS: Final = 1.0

COLUMNS: Final = (
    "broker",
    "first CONNACK",
    "retained message",
    "all is read",
    "CPU s",
    "resident MB",
)
LEGEND: Final = (
    "Seconds after the process was started, medians over the runs. retained message: until one "
    "comes to the subscription of a client that was connected first. all is read: by the broker's "
    "own log. CPU s and resident MB: of the process at that time."
)


@dataclass(frozen=True)
class StartRun:
    connack: float
    retained: float
    all_read: float
    cpu: float
    resident: int


@contextmanager
def serving(peer: peers.PeerBroker, folder: Path) -> Iterator[tuple[int, int, float]]:
    """The broker on that folder's `data`: its port and process, and when it was started."""
    if peer.command is None:
        raise GeneratorError(f"{peer.name} cannot be started here")
    port = free_port()
    with (folder / "log").open("wb") as log:
        began = time.perf_counter()
        process = subprocess.Popen(
            peer.command(port, folder),
            env={**os.environ, **peer.environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            yield port, process.pid, began
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def first_client(port: int) -> LoadClient:
    """As soon as the broker lets somebody in; GeneratorError if it does not."""
    deadline = time.perf_counter() + PATIENCE_SECONDS
    while time.perf_counter() < deadline:
        try:
            return LoadClient(("127.0.0.1", port), "first")
        except OSError:
            time.sleep(TRY_SECONDS)
    raise GeneratorError("the broker lets nobody in")


def await_all_read(folder: Path) -> None:
    deadline = time.perf_counter() + PATIENCE_SECONDS
    while ALL_READ not in (folder / "log").read_text(errors="replace"):
        if time.perf_counter() > deadline:
            raise GeneratorError("the broker does not say that everything is read")
        time.sleep(TRY_SECONDS)


def fill(peer: peers.PeerBroker, folder: Path, scale: float) -> None:
    """Stopped cleanly, so that nothing is left to be made good."""
    sessions = max(1, int(SESSIONS * scale))
    with serving(peer, folder) as (port, _, _):
        close([first_client(port)])
        address = ("127.0.0.1", port)
        state.leave_sessions(address, sessions, "away")
        state.queue(address, sessions, QUEUED_EACH, "away")
        state.retain(address, max(1, int(RETAINED * scale)))


def start_once(peer: peers.PeerBroker, filled: Path) -> StartRun:
    """GeneratorError or OSError if there is nothing to measure."""
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as name:
        folder = Path(name)
        shutil.copytree(filled / "data", folder / "data")
        with serving(peer, folder) as (port, pid, began):
            client = first_client(port)
            connack = time.perf_counter() - began
            # The message may come before the answer, which waits for the disk.
            client.socket.sendall(packets.subscribe(1, [state.topic(0)], 0))
            message = packets.publish(state.topic(0), state.VALUE, retain=True)
            client.receive(packets.suback_size(1) + len(message))
            retained = time.perf_counter() - began
            await_all_read(folder)
            all_read = time.perf_counter() - began
            close([client])
            return StartRun(connack, retained, all_read, cpu_seconds(pid), resident_bytes(pid))


def contenders(folders: list[Path]) -> list[peers.PeerBroker]:
    """ValueError for a folder that is no checkout."""
    return [
        peers.durable_gossamer(),
        *(peers.checkout(folder, durable=True) for folder in folders),
    ]


def row(name: str, runs: list[StartRun]) -> list[str]:
    if not runs:
        return [name, *[""] * (len(COLUMNS) - 1)]
    found = [
        statistics.median(one.connack for one in runs),
        statistics.median(one.retained for one in runs),
        statistics.median(one.all_read for one in runs),
        statistics.median(one.cpu for one in runs),
        statistics.median(one.resident for one in runs) / 1e6,
    ]
    return [name, *(report.number(value, 2) for value in found[:4]), report.number(found[4])]


def start(
    beside: harness.Beside = None,
    quick: Annotated[bool, typer.Option("--quick", help="A fiftieth of everything.")] = False,
    repeat: harness.Repeat = 5,
    out: harness.Out = Path("out/start"),
) -> None:
    """Measure how long a broker with a full store takes until it serves, and until all is read."""
    try:
        field = contenders(beside or [])
    except ValueError as problem:
        raise WrongUse(str(problem)) from None
    console = tables.console()
    if warning := report.busy():
        console.print(warning, style="yellow")
    scale = QUICK_SCALE if quick else 1.0
    results: dict[str, list[StartRun]] = {one.name: [] for one in field}
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as name:
        console.print("filling a store …", style="dim")
        try:
            fill(field[0], Path(name), scale)
        except (GeneratorError, OSError) as problem:
            raise CommandError(f"the store could not be filled: {problem}") from problem
        for _ in range(repeat):
            for one in field:
                try:
                    results[one.name].append(start_once(one, Path(name)))
                except (GeneratorError, OSError) as problem:
                    failures.append(f"{one.name}: {problem}")
    rows = [row(name, runs) for name, runs in results.items()]
    said = [
        LEGEND,
        f"In the store: {int(RETAINED * scale):,} retained messages, "
        f"{int(SESSIONS * scale) * QUEUED_EACH:,} queued, {int(SESSIONS * scale):,} sessions.",
        *(f"Not measured: {why}." for why in dict.fromkeys(failures)),
        *verdict(results[field[0].name]),
        f"{report.machine()}; {report.versions(field)}. {report.busy()}".strip(),
    ]
    console.print(tables.table("", COLUMNS, rows))
    for text in said:
        console.print(text)
    lines = [*tables.markdown_table(COLUMNS, rows), *(line for text in said for line in ("", text))]
    kept = {name: [asdict(run) for run in runs] for name, runs in results.items()}
    files = report.save("start", out, "\n".join(lines) + "\n", results=kept)
    report.say_where(console, files)
    if not any(results.values()):
        raise CommandError("nothing could be measured; the notes say why")


def verdict(runs: list[StartRun]) -> list[str]:
    if not runs:
        return []
    found = statistics.median(one.connack for one in runs)
    word = "ok" if found <= MOST_SECONDS else "MISSED"
    return [f"{word}: the first client is served after {found:.2f} s (wanted: {MOST_SECONDS:g})."]
