"""``gossamer bench heal``: a link on a reader's way is cut, and how long a ring takes to recover.

A writer publishes at QoS 0 every few milliseconds, which waits for nothing and is repeated by
nobody. The time from the cut until the next message arrives is what the reader sees of it.
"""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Final

import typer

from gossamer.cli.errors import CommandError
from gossamer.net.client import Client
from gossamer_lab.quantiles import quantile

if TYPE_CHECKING:
    from gossamer.net.local.broker import LocalBroker
    from gossamer.net.local.mesh import LocalMesh

STEP_SECONDS: Final = 0.01
PATIENCE: Final = 60.0
_TOPIC: Final = "heal"


def heal(
    brokers: Annotated[int, typer.Option(min=3, max=50, help="Brokers in the ring.")] = 7,
    rounds: Annotated[int, typer.Option(min=1, help="Links cut, one after the other.")] = 30,
) -> None:
    """Measure how long a ring of brokers takes to recover from a cut link."""
    from gossamer.net.local.broker import LocalMeshError

    try:
        with TemporaryDirectory() as folder:
            found = sorted(asyncio.run(measure(Path(folder), brokers, rounds)))
    except LocalMeshError as error:
        raise CommandError(str(error)) from error
    for part in (0.5, 0.9, 0.99, 1.0):
        milliseconds = 1000 * quantile(found, part)
        typer.echo(f"{part:>5.0%} of {len(found)} cuts healed within {milliseconds:,.0f} ms")


async def measure(folder: Path, brokers: int, rounds: int) -> list[float]:
    """Seconds, one for each cut."""
    from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan

    with LocalMesh(folder, LocalMeshPlan(brokers, "ring")) as mesh:
        await asyncio.to_thread(mesh.start)
        reader = Client(f"mqtt://127.0.0.1:{mesh.brokers[brokers // 2].port}", "reader")
        writer = Client(f"mqtt://127.0.0.1:{mesh.brokers[0].port}", "writer")
        async with reader, writer:
            await reader.subscribe(_TOPIC)
            arrivals: asyncio.Queue[float] = asyncio.Queue()
            collector = asyncio.ensure_future(_collect(reader, arrivals))
            found = [await _round(mesh, writer, arrivals) for _ in range(rounds)]
            collector.cancel()
        return found


async def _collect(reader: Client, arrivals: asyncio.Queue[float]) -> None:
    """When each message was published."""
    async for message in reader.messages():
        arrivals.put_nowait(float(message.payload))


async def _round(mesh: LocalMesh, writer: Client, arrivals: asyncio.Queue[float]) -> float:
    await asyncio.to_thread(mesh.wait)
    await _until_one_after(time.monotonic(), writer, arrivals)
    dialler, neighbour = await asyncio.to_thread(_on_the_way, mesh)
    await asyncio.to_thread(dialler.admin.call, "POST", f"/v1/mesh/{neighbour}/cut")
    cut_at = time.monotonic()
    healed_at = await _until_one_after(cut_at, writer, arrivals)
    await asyncio.to_thread(dialler.admin.call, "POST", f"/v1/mesh/{neighbour}/heal")
    return healed_at - cut_at


async def _until_one_after(moment: float, writer: Client, arrivals: asyncio.Queue[float]) -> float:
    """Publishes until something that was published after the moment has arrived; when it did."""
    deadline = moment + PATIENCE
    while time.monotonic() < deadline:
        await writer.publish(_TOPIC, str(time.monotonic()))
        await asyncio.sleep(STEP_SECONDS)
        while not arrivals.empty():
            if arrivals.get_nowait() > moment:
                return time.monotonic()
    raise CommandError("the mesh did not heal in time")


def _on_the_way(mesh: LocalMesh) -> tuple[LocalBroker, str]:
    """A link of the tree between writer and reader: who dials it, and the other end. In a ring all
    links but one are in the tree, so the way is the side without that one."""
    half = len(mesh.brokers) // 2
    links = {frozenset((link.near, link.far)): link for link in mesh.links()}
    names = [broker.name for broker in mesh.brokers]
    for way in (names[: half + 1], [*names[half:], names[0]]):
        found = [links[frozenset(pair)] for pair in pairwise(way)]
        if all(link.inward["state"] == "tree" for link in found):
            chosen = found[len(found) // 2]
            dialler = next(broker for broker in mesh.brokers if broker.name == chosen.far)
            return dialler, chosen.near
    raise CommandError("no way leads from the writer to the reader")
