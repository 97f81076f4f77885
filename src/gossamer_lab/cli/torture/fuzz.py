"""`gossamer torture fuzz`: packets that nobody should send, against a broker in memory."""

import time
from typing import Annotated

import typer

from gossamer.cli.progress import Advance
from gossamer_lab.cli.torture.conclusion import build, conclude


def fuzz(
    inputs: Annotated[int, typer.Option("--inputs", min=1, help="Number of inputs.")] = 20_000,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 1,
    first: Annotated[
        int,
        typer.Option("--first", min=0, help="Start with this round; a fault prints its round."),
    ] = 0,
) -> None:
    """Send a broker malformed packets and fields at their limits; fail on any exception."""
    from gossamer_lab.torture.fuzz.run import fuzz as run

    began = time.monotonic()
    with Advance("inputs", inputs) as advance:
        outcome = run(inputs, seed, first, advance.show)
    typer.echo(
        f"{build()}; seed {seed}: {outcome.inputs} inputs of {outcome.bytes} bytes, "
        f"{outcome.logins} logins, {outcome.refused} connections ended for them, "
        f"{outcome.answers} packets in answer ({outcome.delivered} of them publications), "
        f"{len(outcome.faults)} faults in {time.monotonic() - began:.0f} seconds"
    )
    conclude(outcome.faults)
