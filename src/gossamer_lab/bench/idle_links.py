"""What a link costs that carries nothing: bytes and processor time, on real brokers.

A line of brokers is left alone, and one broker beside it that has no links. What the line takes
more than as many of those is its links'. Bytes are those of MQTT, as both ends count them, and
those on the road: with 52 bytes of IP and TCP for each segment, where `ss` can count these.
"""

import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console

from gossamer.cli.errors import CommandError
from gossamer.net.local.broker import LocalMeshError
from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan
from gossamer_lab import tables
from gossamer_lab.bench import peers, report
from gossamer_lab.bench.processes import cpu_seconds

BROKERS: Final = 3
SECONDS: Final = 60.0
QUICK_SECONDS: Final = 10.0
# Until round trips are known and nothing is left of the start.
SETTLE_SECONDS: Final = 15.0
HEADERS: Final = 52  # bytes of IP and TCP, with the time stamps that every segment has
WANTED_BYTES: Final = 200.0
WANTED_SHARE: Final = 0.001
COLUMNS: Final = (
    "brokers", "MQTT bytes/s", "segments/s", "road bytes/s", "CPU of a link", "CPU of one broker"
)  # fmt: skip
LEGEND: Final = (
    "Of each link, both ends and both ways together. segments: all TCP segments, those that only "
    "acknowledge among them. road: with 52 bytes of IP and TCP for each segment. CPU: part of a "
    "core, of both ends of a link, or of a broker without links."
)


class IdleCost(NamedTuple):
    """Of one link, a second."""

    bytes: float
    segments: float | None  # None where `ss` is missing
    share: float  # of a core
    broker_share: float  # of one broker without links

    @property
    def road_bytes(self) -> float | None:
        return None if self.segments is None else self.bytes + HEADERS * self.segments


def show_idle(console: Console, *, quick: bool, roots: Sequence[Path]) -> None:
    seconds = QUICK_SECONDS if quick else SECONDS
    rows = []
    verdict = ""
    for root in (None, *roots):
        name = "gossamer" if root is None else peers.checkout_name(root)
        try:
            cost = measure(seconds, {} if root is None else peers.checkout_environment(root))
        except LocalMeshError as error:
            raise CommandError(str(error)) from error
        rows.append(
            [
                f"{name} × {BROKERS}",
                report.number(cost.bytes, 1),
                report.number(cost.segments, 2),
                report.number(cost.road_bytes, 1),
                f"{cost.share:.3%}",
                f"{cost.broker_share:.3%}",
            ]
        )
        if root is None:
            road = cost.bytes if cost.road_bytes is None else cost.road_bytes
            is_met = road <= WANTED_BYTES and cost.share <= WANTED_SHARE
            verdict = (
                f"{'ok' if is_met else 'MISSED'}: an idle link takes {road:,.0f} bytes a second "
                f"and {cost.share:.3%} of a core (wanted: {WANTED_BYTES:.0f} bytes and "
                f"{WANTED_SHARE:.1%})"
            )
    console.print(tables.table(f"idle links, {seconds:.0f} s", COLUMNS, rows))
    console.print(verdict)
    console.print(LEGEND)


def measure(seconds: float, environment: dict[str, str]) -> IdleCost:
    """LocalMeshError if the brokers do not come up."""
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder:
        line_plan = LocalMeshPlan(BROKERS, sys_seconds=0, environment=environment)
        one_plan = LocalMeshPlan(1, sys_seconds=0, environment=environment)
        with (
            LocalMesh(Path(folder, "line"), line_plan) as line,
            LocalMesh(Path(folder, "one"), one_plan) as one,
        ):
            line.start()
            one.start()
            time.sleep(SETTLE_SECONDS)
            ports = {broker.port for broker in line.brokers}
            pids = [broker.pid for broker in line.brokers]
            bytes_before = _bytes(line)
            segments_before = _segments(ports)
            began = time.monotonic()
            cpu_before = [cpu_seconds(pid) for pid in (*pids, one.brokers[0].pid)]
            time.sleep(seconds)
            cpu = [cpu_seconds(pid) for pid in (*pids, one.brokers[0].pid)]
            took = time.monotonic() - began
            segments_after = _segments(ports)
            sent = _bytes(line) - bytes_before
    used = [after - before for after, before in zip(cpu, cpu_before, strict=True)]
    links = len(line.edges)
    segments = None
    if segments_before is not None and segments_after is not None:
        segments = (segments_after - segments_before) / links / took
    alone = used[-1]
    share = max(0.0, sum(used[:-1]) - BROKERS * alone) / links / took
    return IdleCost(sent / links / took, segments, share, alone / took)


def _bytes(line: LocalMesh) -> int:
    return sum(link.sum("bytes_sent") for link in line.links())


def _segments(ports: set[int]) -> int | None:
    """That both ends of all connections to these ports have sent."""
    program = shutil.which("ss")
    if program is None:
        return None
    told = subprocess.run([program, "-tinH"], capture_output=True, text=True, check=True).stdout
    total = 0
    is_ours = False
    for line in told.splitlines():
        if not line.startswith((" ", "\t")):
            ends = [end.rpartition(":")[2] for end in line.split()[3:5]]
            is_ours = any(end.isdigit() and int(end) in ports for end in ends)
        elif is_ours:
            found = re.search(r"\bsegs_out:(\d+)", line)
            total += int(found[1]) if found else 0
    return total
