"""``gossamer bench stalls``: how long a client waits while others give the broker much to do.

It publishes to itself every 2 ms, through the broker and, at the same moments, through a bare epoll
echo on the broker's core: what that one waits is the machine's doing. Those who give the broker
work are a process of lower priority on the core of the pinging client.
"""

import gc
import os
import select
import socket
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from gossamer.cli.errors import CommandError, WrongUse
from gossamer.net.local.ports import free_port
from gossamer_lab import tables
from gossamer_lab.bench import harness, peers, report
from gossamer_lab.bench.chains import gossamer_chain, mosquitto_chain
from gossamer_lab.bench.load import packets, state
from gossamer_lab.bench.load.client import GeneratorError, LoadClient, close
from gossamer_lab.bench.load.disturbances import (
    BY_NAME,
    OWN_TOPICS,
    PREPARE_SECONDS,
    SCENARIOS,
    StallScenario,
    others,
    told,
)
from gossamer_lab.bench.load.flow import READ_SIZE
from gossamer_lab.bench.processes import beside as process_beside
from gossamer_lab.quantiles import quantile

QUICK_SCALE: Final = 0.02
EVERY_SECONDS: Final = 0.002
TOPIC: Final = "stall/ping"
NUMBER_SIZE: Final = 4
PING_SIZE: Final = len(packets.publish(TOPIC, bytes(NUMBER_SIZE)))

WARM_UP_SECONDS: Final = 0.5
# A short scenario is measured for so long, and every one a moment after its end: what a broker puts
# off is part of what it costs.
AT_LEAST_SECONDS: Final = 2.0
AFTERWARDS_SECONDS: Final = 0.5
# The longest wait that is measured; a ping that takes longer is lost.
PATIENCE_SECONDS: Final = 10.0
SCENARIO_SECONDS: Final = 120.0

# Wanted of the worst wait, in milliseconds, less what the echo waited.
MOST_IN_MEMORY: Final = 10.0
MOST_ON_DISK: Final = 25.0

COLUMNS: Final = (
    "beside it",
    "broker",
    "p50",
    "p99",
    "p99.9",
    "worst",
    "echo worst",
    "less echo",
    "each less echo",
    "lost",
)
LEGEND: Final = (
    "Milliseconds from when a ping was due until it came, one every 2 ms; medians over the runs. "
    "echo worst: the worst of the same pings through a bare epoll echo on the broker's core, "
    "at the same time. less echo: worst less that, of each run. each less echo: the worst "
    "of each ping's wait less the same ping's through the echo. lost: pings that did not come "
    f"within {PATIENCE_SECONDS:.0f} s, and count as that."
)


# The pinging client ---------------------------------------------------------------------------


def echo(started: Callable[[], None], port: int, cores: set[int]) -> None:
    """Sends back what comes, to one client; it ends with its process."""
    os.sched_setaffinity(0, cores)
    gc.disable()
    listener = socket.create_server(("127.0.0.1", port))
    started()
    client, _ = listener.accept()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    poll = select.epoll()
    poll.register(client.fileno(), select.EPOLLIN)
    while True:
        poll.poll()
        data = client.recv(READ_SIZE)
        if not data:
            return
        client.sendall(data)


@dataclass(frozen=True)
class Waits:
    """Milliseconds."""

    p50: float
    p99: float
    p999: float
    worst: float
    lost: int


def waits(due: Sequence[float], came: dict[int, float]) -> Waits:
    """Of the pings that were due at these times, by when those that came did. The others count as
    the longest wait, so that a broker is not better for what it drops."""
    never = PATIENCE_SECONDS
    ordered = sorted(1000 * (came[n] - at if n in came else never) for n, at in enumerate(due))
    p50, p99, p999, worst = (quantile(ordered, part) for part in (0.5, 0.99, 0.999, 1.0))
    return Waits(p50, p99, p999, worst, len(due) - len(came))


class PingRun(NamedTuple):
    """When each ping was due, and for each road when those that came did."""

    due: list[float]
    came: list[dict[int, float]]


class PingRoad:
    """One way there and back: numbered packets of one size."""

    def __init__(self, there: socket.socket, back: socket.socket) -> None:
        self.there = there
        self.back = back
        self.came: dict[int, float] = {}
        self._data = b""

    def read(self) -> None:
        chunk = self.back.recv(READ_SIZE)
        now = time.perf_counter()
        if not chunk:
            raise GeneratorError("the broker closed the connection of the pinging client")
        self._data += chunk
        whole = len(self._data) // PING_SIZE * PING_SIZE
        for end in range(PING_SIZE, whole + 1, PING_SIZE):
            self.came[int.from_bytes(self._data[end - NUMBER_SIZE : end], "big")] = now
        self._data = self._data[whole:]


class Pinger:
    """Pings on all roads at the same moments.

    A wait counts from when a ping was due: while this process itself is not run, those that it
    could not send are late on all roads.
    """

    def __init__(self, roads: Sequence[PingRoad]) -> None:
        self._roads = roads
        self._next = 0

    def run(self, at_least: float, at_most: float, done: Connection | None = None) -> PingRun:
        """Until so long after something is said on `done`; without one, for the least time."""
        first = self._next
        due: list[float] = []
        began = time.perf_counter()
        end = began + (at_least if done is None else at_most)
        watched: list[socket.socket | Connection] = [road.back for road in self._roads]
        if done is not None:
            watched.append(done)
        while (now := time.perf_counter()) < end:
            then = began + len(due) * EVERY_SECONDS
            if now >= then:
                self._send()
                due.append(then)
                continue
            ready, _, _ = select.select(watched, [], [], then - now)
            if done in ready:
                watched.remove(done)
                end = max(began + at_least, time.perf_counter() + AFTERWARDS_SECONDS)
            self._read(ready)
        patience = time.perf_counter() + PATIENCE_SECONDS
        backs = [road.back for road in self._roads]
        while any(len(road.came) < self._next for road in self._roads):
            ready, _, _ = select.select(backs, [], [], max(0.0, patience - time.perf_counter()))
            if not ready:
                break
            self._read(ready)
        return PingRun(
            due,
            [{n - first: at for n, at in road.came.items() if n >= first} for road in self._roads],
        )

    def _send(self) -> None:
        packet = packets.publish(TOPIC, self._next.to_bytes(NUMBER_SIZE, "big"))
        self._next += 1
        for road in self._roads:
            road.there.sendall(packet)

    def _read(self, ready: Sequence[object]) -> None:
        for road in self._roads:
            if road.back in ready:
                road.read()


@dataclass(frozen=True)
class StallRun:
    broker: Waits
    echo: Waits
    each_less_echo: float  # the worst, in milliseconds, ping by ping
    missing: str = ""  # what of the scenario's own messages did not come

    @classmethod
    def of(cls, pings: PingRun, missing: str) -> "StallRun":
        through_broker, through_echo = pings.came
        both = through_broker.keys() & through_echo.keys()
        worst = max((through_broker[n] - through_echo[n] for n in both), default=0.0)
        return cls(
            waits(pings.due, through_broker),
            waits(pings.due, through_echo),
            max(0.0, 1000 * worst),
            missing,
        )

    @property
    def less_echo(self) -> float:
        return max(0.0, self.broker.worst - self.echo.worst)


def measure(
    scenario: StallScenario, brokers: harness.Brokers, kept: int, scale: float = 1.0
) -> StallRun:
    """GeneratorError or OSError if there is nothing to measure."""
    broker_cores, generator_cores = harness.split_cores()
    own_cores = os.sched_getaffinity(0)
    with ExitStack() as stack:
        running = stack.enter_context(brokers.running(broker_cores))
        target = replace(running, scale=scale)
        os.sched_setaffinity(0, generator_cores)
        stack.callback(os.sched_setaffinity, 0, own_cores)
        port = free_port()
        # It is closed after the echo's end, which would be too soon otherwise.
        mirror = stack.enter_context(socket.socket())
        stack.enter_context(process_beside(echo, port, broker_cores))
        own_retained = target.scaled(scenario.retained) if scenario.retained else 0
        left = max(0, kept - own_retained - OWN_TOPICS)
        connection = stack.enter_context(others(scenario.name, target, left))
        told(connection, PREPARE_SECONDS)
        mirror.connect(("127.0.0.1", port))
        mirror.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        subscriber = LoadClient(target.last_address, "ping")
        subscriber.subscribe([TOPIC], 0)
        publisher = LoadClient(target.address, "ping-there") if target.last_port else subscriber
        stack.callback(close, [subscriber, publisher])
        state.await_path(target)
        pinger = Pinger([PingRoad(publisher.socket, subscriber.socket), PingRoad(mirror, mirror)])
        gc.disable()  # the pinging client must not be what pauses
        stack.callback(gc.enable)
        pinger.run(WARM_UP_SECONDS, WARM_UP_SECONDS)
        connection.send("begin")
        pings = pinger.run(AT_LEAST_SECONDS, SCENARIO_SECONDS, connection)
        missing = [told(connection, 0.0)]
        connection.send("end")
        missing.append(told(connection, PREPARE_SECONDS))
        return StallRun.of(pings, "; ".join(filter(None, missing)))


# The command ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class StallResult:
    """All runs of a scenario on a broker, and why those that failed did."""

    scenario: str
    broker: str
    runs: list[StallRun]
    failures: list[str]

    def middle(self, value: Callable[[StallRun], float]) -> float:
        return statistics.median(map(value, self.runs))

    def cells(self, title: str) -> list[str]:
        if not self.runs:
            return [title, self.broker, *[""] * (len(COLUMNS) - 2)]
        found = (
            self.middle(lambda run: run.broker.p50),
            self.middle(lambda run: run.broker.p99),
            self.middle(lambda run: run.broker.p999),
            self.middle(lambda run: run.broker.worst),
            self.middle(lambda run: run.echo.worst),
            self.middle(lambda run: run.less_echo),
            self.middle(lambda run: run.each_less_echo),
        )
        lost = self.middle(lambda run: run.broker.lost)
        return [title, self.broker, *(f"{value:,.2f}" for value in found), f"{lost:,.0f}"]

    def notes(self) -> list[str]:
        said = [*self.failures, *(run.missing for run in self.runs if run.missing)]
        return [f"{self.scenario}, {self.broker}: {text}" for text in dict.fromkeys(said)]


class Contender(NamedTuple):
    """Brokers that are measured; the most that is wanted of them, in milliseconds, if anything."""

    brokers: harness.Brokers
    most: float | None = None


def contenders(folders: Sequence[Path]) -> list[Contender]:
    """ValueError for a folder that is no checkout."""
    found = [
        Contender(peers.gossamer(), MOST_IN_MEMORY),
        Contender(replace(peers.durable_gossamer(), name="gossamer on disk"), MOST_ON_DISK),
        Contender(gossamer_chain(2), MOST_IN_MEMORY),
        Contender(gossamer_chain(2, is_durable=True), MOST_ON_DISK),
    ]
    for folder in folders:
        there = peers.checkout(folder, durable=True)
        found.append(Contender(peers.checkout(folder)))
        found.append(Contender(replace(there, name=f"{there.name} on disk")))
    bridged = [peers.mosquitto(), mosquitto_chain(2)]
    return [*found, *(Contender(one) for one in bridged if one is not None)]


def stalls(
    scenario: Annotated[
        list[str] | None,
        typer.Option(
            "--scenario", "-s", metavar="NAME", help="Only this scenario; may be repeated."
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only the brokers of this name; may be repeated."),
    ] = None,
    beside: harness.Beside = None,
    retained: Annotated[
        int,
        typer.Option(
            min=0, max=1_000_000, metavar="N", help="Hold so many retained messages meanwhile."
        ),
    ] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="A fiftieth of everything.")] = False,
    repeat: harness.Repeat = 5,
    out: harness.Out = Path("out/stalls"),
) -> None:
    """Measure how long a client waits while others subscribe, retain, return and connect."""
    unknown = [name for name in scenario or () if name not in BY_NAME]
    if unknown:
        raise WrongUse(f"there is no scenario {unknown[0]}: choose from {', '.join(BY_NAME)}")
    try:
        found = contenders(beside or ())
    except ValueError as problem:
        raise WrongUse(str(problem)) from None
    names = [one.brokers.name for one in found]
    field = [one for one in found if not only or one.brokers.name in only]
    if not field:
        raise WrongUse(f"none of --only can be measured here: choose from {', '.join(names)}")
    harness.allow_many_connections()
    console = tables.console()
    if warning := report.busy():
        console.print(warning, style="yellow")
    scale = QUICK_SCALE if quick else 1.0
    wanted = [one for one in SCENARIOS if not scenario or one.name in scenario]
    results, rows, misses = [], [], []
    for each in wanted:
        title = each.title.format(max(1, int(each.amount * scale)))
        console.print(f"{title} …", style="dim")
        for one, result in zip(field, _turns(each, field, retained, scale, repeat), strict=True):
            results.append(result)
            rows.append(result.cells(title))
            if one.most is None:
                continue
            worst = result.middle(lambda run: run.less_echo) if result.runs else None
            if worst is None or worst > one.most:
                why = "not measured" if worst is None else f"{worst:,.1f} ms, wanted {one.most:g}"
                misses.append(f"{each.name} on {result.broker} ({why})")
    has_limits = any(one.most is not None for one in field)
    brokers = [one.brokers for one in field]
    _conclude(rows, results, misses if has_limits else None, brokers, retained, out)


def _turns(
    scenario: StallScenario, field: Sequence[Contender], kept: int, scale: float, repeat: int
) -> list[StallResult]:
    """The brokers take turns, so that what else the machine does meets them alike."""
    results = [StallResult(scenario.name, one.brokers.name, [], []) for one in field]
    for _ in range(repeat):
        for one, result in zip(field, results, strict=True):
            try:
                result.runs.append(measure(scenario, one.brokers, kept, scale))
            except (GeneratorError, OSError) as problem:
                result.failures.append(str(problem) or type(problem).__name__)
    return results


def _conclude(
    rows: list[list[str]],
    results: list[StallResult],
    misses: list[str] | None,
    brokers: Sequence[harness.Brokers],
    retained: int,
    out: Path,
) -> None:
    notes = [note for result in results for note in result.notes()]
    said = [LEGEND, f"Retained messages meanwhile: {retained:,}."]
    said += [f"Not as it should be: {note}." for note in notes]
    if misses is not None:
        said.append(f"Over what is wanted of the worst, less echo: {', '.join(misses) or 'none'}.")
    said.append(f"{report.machine()}; {report.versions(brokers)}. {report.busy()}".strip())
    console = tables.console(160)
    console.print(tables.table("", COLUMNS, rows, left=2))
    for text in said:
        console.print(text)
    lines = [*tables.markdown_table(COLUMNS, rows), *(line for text in said for line in ("", text))]
    kept = [asdict(result) for result in results]
    files = report.save("stalls", out, "\n".join(lines) + "\n", retained=retained, results=kept)
    report.say_where(console, files)
    if not any(result.runs for result in results):
        raise CommandError("nothing could be measured; the notes say why")
