"""``gossamer bench durable``: durable QoS 1 beside a broker that keeps nothing, in one run."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import WrongUse
from gossamer_lab import tables
from gossamer_lab.bench import harness, peers, report
from gossamer_lab.bench.load.scenarios import DURABLE_SCENARIOS

QUICK = harness.RunLength(1.0, 0.05)


def durable(
    quick: Annotated[bool, typer.Option("--quick", help="Short runs with fewer messages.")] = False,
    beside: harness.Beside = None,
    repeat: harness.Repeat = 1,
    out: harness.Out = Path("out/durable"),
) -> None:
    """Measure QoS 1 with every message on disk beside Mosquitto, which keeps it in memory."""
    field = [peers.durable_gossamer(), *peers.present(peers.mosquitto())]
    try:
        field += [peers.checkout(root, durable=True) for root in beside or ()]
    except ValueError as problem:
        raise WrongUse(str(problem)) from None
    console = tables.console()
    length = QUICK if quick else harness.FULL
    results = harness.run_with_bar(console, DURABLE_SCENARIOS, field, length, repeat)
    report.conclude(console, results, field, out)
