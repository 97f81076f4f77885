"""``gossamer bench pushdown``: what crosses links when rules, areas and windows are judged where
messages enter, and when the last broker judges them.

Seven real brokers in a binary tree, sensors at three of its four leaves, and one subscriber at the
fourth. Each case runs twice: in mode `ssf`, which tells neighbours what is wanted of a topic, and
in mode `sf`, which tells them filters alone. The same numbered publications go in both times; bytes
and messages are those that all links have sent, without heartbeats and other control messages.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer
from rich.progress import Progress

from gossamer.cli.errors import CommandError
from gossamer.net.client import Client
from gossamer.wire.packets import Publish
from gossamer.wire.properties import Properties
from gossamer_lab import tables
from gossamer_lab.bench import harness, report
from gossamer_lab.bench.processes import cpu_seconds
from gossamer_lab.bench.pushdown_cases import PushdownCase, cases_of

if TYPE_CHECKING:
    from gossamer.net.local.mesh import LocalMesh

BROKERS: Final = 7
SUBSCRIBED_AT: Final = 3  # a leaf of the binary tree
SENSORS_AT: Final = (4, 5, 6)  # the other leaves
# Conditions told to neighbours, and filters alone.
PUSHED: Final = "ssf"
PLAIN: Final = "sf"
# What is measured ends when this has come from each of them, behind all that was published.
DONE: Final = "done"
# Until a subscription is known everywhere, and until all that was counted is told.
SETTLE_SECONDS: Final = 1.0
PATIENCE_SECONDS: Final = 60.0
COLUMNS: Final = (
    *("case", "mode", "published", "received", "messages", "bytes", "fewer bytes", "control"),
    *("entering µs", "last µs"),
)
LEGEND: Final = (
    "messages, bytes: on all six links together, without control messages, whose bytes are beside "
    "them. entering µs: processor time of the busiest broker with sensors for each of its "
    "publications; last µs: of the subscriber's broker for each of all publications."
)


class LinkTraffic(NamedTuple):
    """What both ends of a link have sent."""

    messages: int
    bytes: int  # control messages included
    control_bytes: int

    def since(self, before: LinkTraffic) -> LinkTraffic:
        return LinkTraffic(*(now - was for now, was in zip(self, before, strict=True)))


@dataclass
class PushdownResult:
    case: str
    mode: str
    published: int
    received: int
    entering_microseconds: float
    last_microseconds: float
    links: dict[str, LinkTraffic] = field(default_factory=dict)  # "b1 - b2"

    def messages(self) -> int:
        return sum(link.messages for link in self.links.values())

    def bytes(self) -> int:
        return sum(link.bytes - link.control_bytes for link in self.links.values())

    def control_bytes(self) -> int:
        return sum(link.control_bytes for link in self.links.values())


def pushdown(
    quick: harness.Quick = False,
    case: Annotated[
        list[str] | None,
        typer.Option("-c", "--case", metavar="WORD", help="Only cases whose name has this word."),
    ] = None,
    out: harness.Out = Path("out/pushdown"),
) -> None:
    """Measure what crosses links with conditions judged where messages enter, and without."""
    from gossamer.net.local.broker import LocalMeshError

    console = tables.console()
    if warning := report.busy():
        console.print(warning, style="yellow")
    cases = [one for one in cases_of(quick) if not case or any(word in one.name for word in case)]
    if not cases:
        raise CommandError("no case has such a name: leave --case out to see all")
    results: list[PushdownResult] = []
    try:
        with Progress(console=console, transient=True) as progress:
            task = progress.add_task("", total=2 * len(cases))
            for one in cases:
                for mode in (PUSHED, PLAIN):
                    progress.update(task, description=f"{one.name}, {mode}")
                    results.append(measure(one, mode))
                    progress.advance(task)
    except LocalMeshError as error:
        raise CommandError(str(error)) from error
    rows = list(table_rows(results))
    console.print(tables.table("what crosses the links of seven brokers", COLUMNS, rows))
    console.print(LEGEND)
    console.print(report.machine())
    out.mkdir(parents=True, exist_ok=True)
    kept = [
        asdict(one) | {"links": {name: link._asdict() for name, link in one.links.items()}}
        for one in results
    ]
    (out / "pushdown.json").write_text(json.dumps(kept, indent=2))
    (out / "pushdown.md").write_text("\n".join(tables.markdown_table(COLUMNS, rows)) + "\n")


def table_rows(results: Sequence[PushdownResult]) -> Iterator[list[str]]:
    """Two results are one case, with conditions told and without."""
    for pushed, plain in zip(results[::2], results[1::2], strict=True):
        for one in (pushed, plain):
            fewer = f"{plain.bytes() / max(1, pushed.bytes()):,.1f}×" if one is pushed else ""
            yield [
                one.case,
                one.mode,
                f"{one.published:,}",
                f"{one.received:,}",
                f"{one.messages():,}",
                f"{one.bytes():,}",
                fewer,
                f"{one.control_bytes():,}",
                f"{one.entering_microseconds:.1f}",
                f"{one.last_microseconds:.1f}",
            ]


# One run ----------------------------------------------------------------------------------------


def measure(case: PushdownCase, mode: str) -> PushdownResult:
    """LocalMeshError if the brokers do not come up."""
    from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan

    with TemporaryDirectory(prefix="gossamer-bench-") as folder:
        more = (case.configuration,) * BROKERS if case.configuration else ()
        plan = LocalMeshPlan(BROKERS, "binary", mode, sys_seconds=0, more=more)
        with LocalMesh(Path(folder), plan) as mesh:
            mesh.start()
            return asyncio.run(_run(case, mesh))


async def _run(case: PushdownCase, mesh: LocalMesh) -> PushdownResult:
    ports = [broker.port for broker in mesh.brokers]
    pids = [broker.pid for broker in mesh.brokers]
    reader = Reader(Client(f"mqtt://127.0.0.1:{ports[SUBSCRIBED_AT]}", "subscriber"))
    sensors = [Client(f"mqtt://127.0.0.1:{ports[at]}", f"sensors-{at}") for at in SENSORS_AT]
    clients = [reader.client, *sensors]
    for client in clients:
        await client.connect()
    try:
        await reader.subscribe(case)
        reading = asyncio.ensure_future(reader.read())
        await asyncio.sleep(SETTLE_SECONDS)
        if case.window_seconds:
            await _until_a_window_begins(case.window_seconds)
        before = await asyncio.to_thread(_traffic, mesh)
        spent = [cpu_seconds(pid) for pid in pids]
        await _publish(case, sensors)
        if case.window_seconds:
            await reader.until_quiet(case.window_seconds)
        for at, sensor in zip(SENSORS_AT, sensors, strict=True):
            await sensor.publish(f"{DONE}/{at}", b"", 1)
        await reader.until_done(len(sensors))
        await asyncio.sleep(SETTLE_SECONDS)
        cpu = [cpu_seconds(pid) - was for pid, was in zip(pids, spent, strict=True)]
        after = await asyncio.to_thread(_traffic, mesh)
        reading.cancel()
    finally:
        for client in clients:
            await client.disconnect()
    return PushdownResult(
        case.name,
        mesh.plan.mode,
        case.published,
        reader.received,
        1e6 * max(cpu[at] for at in SENSORS_AT) * len(SENSORS_AT) / case.published,
        1e6 * cpu[SUBSCRIBED_AT] / case.published,
        {name: link.since(before[name]) for name, link in after.items()},
    )


def _traffic(mesh: LocalMesh) -> dict[str, LinkTraffic]:
    return {
        f"{link.near} - {link.far}": LinkTraffic(
            *map(link.sum, ("messages_sent", "bytes_sent", "control_bytes_sent"))
        )
        for link in mesh.links()
    }


async def _until_a_window_begins(seconds: int) -> None:
    """They tumble by the clock of the wall, as ours does."""
    await asyncio.sleep(seconds - time.time() % seconds + 0.05)


async def _publish(case: PushdownCase, sensors: Sequence[Client]) -> None:
    """In time, where the case has a rate, and otherwise as fast as the sensors get rid of them."""
    began = time.monotonic()
    for number in range(case.published):
        topic, payload, properties = case.reading(number)
        broker = number % case.sensors % len(sensors)
        await sensors[broker].publish(topic, payload, 0, False, properties)
        if case.rate:
            ahead = began + number / case.rate - time.monotonic()
            if ahead > 0.005:
                await asyncio.sleep(ahead)


class Reader:
    """Counts what comes to the subscriber."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.received = 0
        self._done = 0

    async def subscribe(self, case: PushdownCase) -> None:
        properties = Properties()
        properties.user = list(case.area)
        reasons = await self.client.subscribe(case.filter, properties=properties)
        if reasons[0] >= 0x80:
            raise CommandError(f"{case.filter}: {self.client.reason_string}")
        await self.client.subscribe(f"{DONE}/+", qos=1)

    async def read(self) -> None:
        async for message in self.client.messages():
            self._count(message)

    def _count(self, message: Publish) -> None:
        if message.topic.startswith(DONE):
            self._done += 1
        else:
            self.received += 1

    async def until_done(self, count: int) -> None:
        await self._until(lambda: self._done >= count, PATIENCE_SECONDS)

    async def until_quiet(self, window_seconds: int) -> None:
        """Until the results of a window that has just ended are there."""
        await self._until(lambda: self.received > 0, PATIENCE_SECONDS + window_seconds)
        seen = -1
        while seen != self.received:
            seen = self.received
            await asyncio.sleep(SETTLE_SECONDS)

    async def _until(self, is_so: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > deadline:
                raise CommandError(f"the last results did not come within {seconds:.0f} s")
            await asyncio.sleep(0.05)
