"""``gossamer bench heal``: a ring of real brokers is cut, and how long its readers wait."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from gossamer.cli.errors import CommandError


def heal(
    brokers: Annotated[int, typer.Option(min=3, max=50, help="Brokers in the ring.")] = 7,
    rounds: Annotated[int, typer.Option(min=1, help="Links cut, one after the other.")] = 30,
) -> None:
    """Measure how long a ring of brokers takes to recover from a cut link."""
    import asyncio

    from gossamer.net.local.broker import LocalMeshError
    from gossamer_lab.bench.mesh.repair import measure

    try:
        with TemporaryDirectory() as folder:
            found = sorted(asyncio.run(measure(Path(folder), brokers, rounds)))
    except LocalMeshError as error:
        raise CommandError(str(error)) from error
    for part in (0.5, 0.9, 0.99, 1.0):
        at = found[min(len(found) - 1, int(part * len(found)))]
        typer.echo(f"{part:>5.0%} of {len(found)} cuts healed within {1000 * at:,.0f} ms")
