"""``gossamer bench links``: what a link costs that is compressed, or speaks TLS with a certificate
at each end, or both: bytes and processor time for each of many readings of sensors.

Two real brokers, a publisher at the one and a subscriber at the other, at QoS 1. The readings are
small JSON documents of two hundred sensors, no two alike.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.progress import Progress

from gossamer.cli.errors import CommandError
from gossamer_lab import tables
from gossamer_lab.bench import harness, report
from gossamer_lab.bench.certificates import make_certificates
from gossamer_lab.bench.load import packets
from gossamer_lab.bench.load.client import GeneratorError, LoadClient, close
from gossamer_lab.bench.load.flow import Load, LoadGroup
from gossamer_lab.bench.load.flow import measure as run_load
from gossamer_lab.bench.load.state import await_path
from gossamer_lab.bench.measurement import BenchTarget

if TYPE_CHECKING:
    from gossamer.net.local.mesh import LocalMesh

SECONDS: Final = 4.0
QUICK_SECONDS: Final = 1.0
SENSORS: Final = 200
# Before one comes again; more bytes than either end of a link remembers.
READINGS: Final = 30_000
# Of TLS to plain, in processor time.
MOST_TIMES: Final = 2.0
COLUMNS: Final = (
    *("readings", "link", "MQTT bytes", "bytes on the link", "shorter"),
    *("CPU µs", "to plain", "out/s"),
)
LEGEND: Final = (
    "For each reading, both ways together: its acknowledgement counts. bytes on the link: without "
    "what TLS, TCP and IP add. CPU µs: of both brokers."
)


@dataclass(frozen=True)
class LinkKind:
    name: str
    is_compressed: bool = False
    is_encrypted: bool = False


KINDS: Final = (
    LinkKind("plain"),
    LinkKind("zstd", is_compressed=True),
    LinkKind("TLS", is_encrypted=True),
    LinkKind("zstd, TLS", is_compressed=True, is_encrypted=True),
)
# How readings come: many in one write, and each by itself, as a client waits for the one before.
LOADS: Final = {"50 at once": Load(50, 1_000), "one by one": Load(1, 1)}


@dataclass
class LinkCost:
    """For each reading."""

    load: str
    kind: str
    mqtt_bytes: float
    link_bytes: float
    microseconds: float
    rate: float

    def shorter(self) -> float:
        return self.mqtt_bytes / self.link_bytes


def links(
    quick: harness.Quick = False,
    kind: Annotated[
        list[str] | None,
        typer.Option("-k", "--kind", metavar="KIND", help="Only links of this kind, and plain."),
    ] = None,
    out: harness.Out = Path("out/links"),
) -> None:
    """Measure links that are compressed, and links with TLS: bytes and processor time."""
    from gossamer.net.local.broker import LocalMeshError

    console = tables.console()
    if warning := report.busy():
        console.print(warning, style="yellow")
    kinds = [one for one in KINDS if one.name == "plain" or not kind or one.name in kind]
    found: list[LinkCost] = []
    seconds = QUICK_SECONDS if quick else SECONDS
    try:
        with Progress(console=console, transient=True) as progress:
            task = progress.add_task("", total=len(kinds) * len(LOADS))
            for load in LOADS:
                for one in kinds:
                    progress.update(task, description=f"{one.name}, {load}")
                    found.append(measure(one, load, seconds))
                    progress.advance(task)
    except (LocalMeshError, GeneratorError) as error:
        raise CommandError(str(error)) from error
    rows = list(table_rows(found))
    console.print(tables.table("readings over one link", COLUMNS, rows))
    console.print(LEGEND)
    for verdict in verdicts(found):
        console.print(verdict)
    console.print(report.machine())
    out.mkdir(parents=True, exist_ok=True)
    (out / "links.json").write_text(json.dumps([asdict(one) for one in found], indent=2))
    (out / "links.md").write_text("\n".join(tables.markdown_table(COLUMNS, rows)) + "\n")


def _plain(found: Sequence[LinkCost], load: str) -> LinkCost:
    return next(one for one in found if (one.load, one.kind) == (load, "plain"))


def table_rows(found: Sequence[LinkCost]) -> Iterator[list[str]]:
    for one in found:
        yield [
            one.load,
            one.kind,
            f"{one.mqtt_bytes:,.1f}",
            f"{one.link_bytes:,.1f}",
            f"{one.shorter():.1f}×",
            f"{one.microseconds:.2f}",
            f"{one.microseconds / _plain(found, one.load).microseconds:.2f}×",
            f"{one.rate:,.0f}",
        ]


def verdicts(found: Sequence[LinkCost]) -> Iterator[str]:
    for one in found:
        if one.kind == "TLS":
            times = one.microseconds / _plain(found, one.load).microseconds
            word = "ok" if times <= MOST_TIMES else "MISSED"
            yield (
                f"{word}: TLS takes {times:.2f}× the processor time of a plain link, {one.load} "
                f"(wanted: {MOST_TIMES:.0f}×)"
            )


# One run ----------------------------------------------------------------------------------------


def measure(kind: LinkKind, load: str, seconds: float) -> LinkCost:
    """LocalMeshError if the brokers do not come up, GeneratorError if readings are lost."""
    from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan

    with TemporaryDirectory(prefix="gossamer-bench-") as name:
        folder = Path(name)
        certificates = None
        if kind.is_encrypted:
            certificates = make_certificates(folder / "certificates", ("b1", "b2"))
        plan = LocalMeshPlan(
            2,
            sys_seconds=0,
            compression="zstd" if kind.is_compressed else "none",
            certificates=certificates,
        )
        with LocalMesh(folder, plan) as mesh:
            mesh.start()
            return _run(kind, load, seconds, mesh)


def _run(kind: LinkKind, load: str, seconds: float, mesh: LocalMesh) -> LinkCost:
    first, last = mesh.brokers
    target = BenchTarget("127.0.0.1", first.port, (first.pid, last.pid), last.port, seconds)
    await_path(target)
    subscriber = LoadClient(target.last_address, "s")
    subscriber.subscribe(["plant/#"], 1)
    publisher = LoadClient(target.address, "p")
    group = ReadingGroup(publisher, subscriber, LOADS[load])
    mqtt, wire = _bytes(mesh)
    result = run_load([group], target)
    close([publisher, subscriber])
    if result.lost:
        raise GeneratorError(f"{result.lost} readings were lost")
    mqtt_after, wire_after = _bytes(mesh)
    return LinkCost(
        load,
        kind.name,
        (mqtt_after - mqtt) / group.sent,
        (wire_after - wire) / group.sent,
        result.cpu_per_delivery() or 0.0,
        result.out_per_second(),
    )


def _bytes(mesh: LocalMesh) -> tuple[int, int]:
    (link,) = mesh.links()
    return link.sum("bytes_sent"), link.sum("wire_bytes_sent")


class ReadingGroup(LoadGroup):
    """Publishes readings, whose packets have one size."""

    def __init__(self, publisher: LoadClient, subscriber: LoadClient, load: Load) -> None:
        topics = [topic_of(sensor) for sensor in range(SENSORS)]
        super().__init__(publisher, [subscriber], topics, load, qos=1)
        encoded = [
            packets.publish(topics[number % SENSORS], payload, 1, number + 1)
            for number, payload in enumerate(readings(READINGS))
        ]
        self.chunks = [
            b"".join(encoded[at : at + load.batch]) for at in range(0, READINGS, load.batch)
        ]
        self.packet_size = len(encoded[0])
        self.publisher_side = self.receiver()
        self.subscriber_sides = [self.receiver()]


def topic_of(sensor: int) -> str:
    return f"plant/hall-{sensor % 7}/line-{sensor % 20:02d}/sensor-{sensor:04d}/reading"


def readings(count: int) -> Iterator[bytes]:
    """Of all sensors in turn, one each millisecond; the values of each wander around its own."""
    chance = Random(1)
    for number in range(count):
        sensor = number % SENSORS
        seconds, milliseconds = divmod(number, 1_000)
        yield json.dumps(
            {
                "sensor": f"s-{sensor:04d}",
                "time": f"2026-11-19T15:{seconds // 60:02d}:{seconds % 60:02d}.{milliseconds:03d}Z",
                "temperature": f"{20 + sensor % 9 + 4 * chance.random():05.2f}",
                "humidity": f"{40 + sensor % 13 + 9 * chance.random():05.2f}",
                "battery": f"{3 + chance.random() / 2:.3f}",
                "status": "ok",
            }
        ).encode()
