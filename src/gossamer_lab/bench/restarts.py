"""``gossamer bench restarts``: the broker in the middle of a line is killed under load, and started
again on its store. When are its links back, and when has a subscriber what waited for them?

Messages are published at QoS 1 at one end at a fixed rate, all the while, and numbered; subscribers
are at the other end. What was sent before the last link came back waited for it.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from gossamer.cli.errors import CommandError
from gossamer_lab import tables
from gossamer_lab.bench import report
from gossamer_lab.bench.load.client import GeneratorError, LoadClient, close
from gossamer_lab.bench.load.flow import PAYLOAD
from gossamer_lab.bench.load.paced import PacedRun, Pacer
from gossamer_lab.quantiles import quantile

if TYPE_CHECKING:
    from gossamer.net.local.broker import LocalBroker
    from gossamer.net.local.mesh import LocalMesh

# What waited is to be at its subscriber so soon after the last link is back.
WANTED_SECONDS: Final = 0.5
# Of load before the broker is killed, and after its links are back.
BEFORE_SECONDS: Final = 1.0
AFTER_SECONDS: Final = 2.0
LOOK_SECONDS: Final = 0.01
PATIENCE: Final = 60.0
STREAMS: Final = 4
COLUMNS: Final = ("round", "up s", "links s", "waited", "first ms", "p50 ms", "last ms", "lost")
LEGEND: Final = (
    "up: from the start of the process until it listens. links: from there until both of its links "
    "stand. waited: messages that were sent before that, and came after the start. first, p50, "
    "last: when these were at their subscriber, from the moment that both links were seen to stand."
)


class Restart(NamedTuple):
    """One round."""

    up_seconds: float
    links_seconds: float
    waits: list[float]  # seconds from the links' return, ascending
    lost: int


def restarts(
    brokers: Annotated[int, typer.Option(min=3, max=9, help="Brokers in the line.")] = 3,
    rounds: Annotated[int, typer.Option(min=1, help="How often the broker is killed.")] = 10,
    down: Annotated[float, typer.Option(min=0.0, help="Seconds that it stays away.")] = 3.0,
    rate: Annotated[int, typer.Option(min=STREAMS, help="Messages a second.")] = 1000,
    mode: Annotated[str, typer.Option(help="How interest is advertised.")] = "ssf",
    memory: Annotated[
        bool, typer.Option("--memory", help="Without stores: what waited in it is lost with it.")
    ] = False,
) -> None:
    """Measure how soon messages arrive after a broker in the middle was killed."""
    from gossamer.net.local.broker import LocalMeshError
    from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan

    console = tables.console()
    found: list[Restart] = []
    try:
        with TemporaryDirectory(prefix="gossamer-bench-") as folder:
            plan = LocalMeshPlan(brokers, "linear", mode, memory=memory)
            with LocalMesh(Path(folder), plan) as mesh:
                mesh.start()
                for number in range(rounds):
                    found.append(measure(mesh, number, down, rate))
    except (LocalMeshError, GeneratorError, OSError) as error:
        raise CommandError(str(error)) from error
    title = f"{brokers} brokers in a line, mode {mode}: the one in the middle is killed"
    console.print(tables.table(title, COLUMNS, table_rows(found)))
    console.print(LEGEND)
    console.print(f"{report.machine()}; {report.busy() or 'quiet'}")
    slowest = max((one.waits[-1] for one in found if one.waits), default=0.0)
    word = "ok" if slowest <= WANTED_SECONDS else "MISSED"
    console.print(
        f"{word}: the slowest of all that waited came {1000 * slowest:,.0f} ms after the links "
        f"(wanted: {1000 * WANTED_SECONDS:,.0f} ms)"
    )
    if any(one.lost for one in found) and not memory:
        raise CommandError(f"{sum(one.lost for one in found)} messages of QoS 1 were lost")


def measure(mesh: LocalMesh, number: int, down: float, rate: int) -> Restart:
    mesh.wait()
    middle = len(mesh.brokers) // 2
    first, last = mesh.brokers[0], mesh.brokers[-1]
    flows = [
        Flow(first, last, f"restarts/{number}/{one}", rate / STREAMS) for one in range(STREAMS)
    ]
    for flow in flows:
        flow.await_path()
    for flow in flows:
        flow.start()
    time.sleep(BEFORE_SECONDS)
    killed = mesh.brokers[middle]
    killed.kill()
    time.sleep(down)
    began = time.perf_counter()
    killed.start()
    up_at = _when(lambda: _listens(killed.port))
    neighbours = (mesh.brokers[middle - 1], mesh.brokers[middle + 1])
    back_at = _when(lambda: all(_is_linked(one, killed.name) for one in neighbours))
    time.sleep(AFTER_SECONDS)
    runs = [flow.end() for flow in flows]
    waits = sorted(
        max(0.0, came - back_at)  # the look at the links takes longer than a message or two
        for run in runs
        for sent_number, came in run.came.items()
        if run.sent[sent_number] < back_at and came > began
    )
    lost = sum(len(run.sent) - len(run.came) for run in runs)
    return Restart(up_at - began, back_at - up_at, waits, lost)


class Flow:
    """One publisher and one subscriber, in a thread of their own."""

    def __init__(self, first: LocalBroker, last: LocalBroker, topic: str, rate: float) -> None:
        publisher = LoadClient(("127.0.0.1", first.port), f"publish-{topic}")
        subscriber = LoadClient(("127.0.0.1", last.port), f"subscribe-{topic}")
        self._clients = (publisher, subscriber)
        self._pacer = Pacer(publisher, subscriber, topic, len(PAYLOAD), rate)
        self._is_ending = threading.Event()
        self._run: PacedRun | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)

    def await_path(self) -> None:
        """Until a message has crossed the line."""
        deadline = time.monotonic() + PATIENCE
        while not self._pacer.run(1, LOOK_SECONDS).came:
            if time.monotonic() > deadline:
                raise GeneratorError("nothing crosses the line")

    def start(self) -> None:
        self._thread.start()

    def end(self) -> PacedRun:
        self._is_ending.set()
        self._thread.join()
        close(self._clients)
        assert self._run is not None, "its thread failed"
        return self._run

    def _work(self) -> None:
        self._run = self._pacer.run_until(self._is_ending.is_set, PATIENCE)


def _when(is_so: Callable[[], bool]) -> float:
    deadline = time.perf_counter() + PATIENCE
    while not is_so():
        if time.perf_counter() > deadline:
            raise GeneratorError("a broker did not come back in time")
        time.sleep(LOOK_SECONDS)
    return time.perf_counter()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
    except OSError:
        return False
    return True


def _is_linked(broker: LocalBroker, neighbour: str) -> bool:
    return bool(broker.links().get(neighbour, {}).get("connected"))


def table_rows(found: list[Restart]) -> list[list[str]]:
    rows = []
    for number, one in enumerate(found):
        waits = one.waits
        shown = (waits[0], quantile(waits, 0.5), waits[-1]) if waits else (None,) * 3
        rows.append(
            [
                str(number + 1),
                report.number(one.up_seconds, 2),
                report.number(one.links_seconds, 2),
                report.number(len(waits)),
                *(report.number(None if value is None else 1000 * value) for value in shown),
                report.number(one.lost),
            ]
        )
    return rows
