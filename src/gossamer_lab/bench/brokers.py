"""``gossamer bench brokers``: this broker and its peers under the same load, in one run."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import WrongUse
from gossamer_lab import tables
from gossamer_lab.bench import harness, peers, report
from gossamer_lab.bench.load.scenarios import ONE_A_READ, SCENARIOS

QUICK = harness.RunLength(1.0, 0.1)


def brokers(
    scenario: Annotated[
        list[str] | None,
        typer.Option(
            "--scenario", "-s", metavar="NAME", help="Only this scenario; may be repeated."
        ),
    ] = None,
    peer: Annotated[
        list[str] | None,
        typer.Option(metavar="PEER", help="Another: NAME=HOST:PORT, or NAME='COMMAND {port}'."),
    ] = None,
    beside: harness.Beside = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only the broker of this name; may be repeated."),
    ] = None,
    pure: Annotated[bool, typer.Option("--pure", help="Measure the uncompiled core too.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Short runs, a tenth of the clients.")
    ] = False,
    repeat: harness.Repeat = 1,
    seconds: Annotated[
        float | None, typer.Option(min=0.05, help="Measured time of each run.")
    ] = None,
    out: harness.Out = Path("out/bench"),
) -> None:
    """Measure this broker and every other broker that is installed (mosquitto, amqtt)."""
    names = [one.name for one in SCENARIOS]
    unknown = [name for name in scenario or () if name not in names]
    if unknown:
        raise WrongUse(f"there is no scenario {unknown[0]}: choose from {', '.join(names)}")
    try:
        others = [peers.parse(text) for text in peer or ()]
        others += [peers.checkout(root) for root in beside or ()]
    except ValueError as problem:
        raise WrongUse(str(problem)) from None
    own = [peers.gossamer(), peers.gossamer(pure=True)] if pure else [peers.gossamer()]
    field = [one for one in [*own, *peers.installed(), *others] if not only or one.name in only]
    if not field:
        raise WrongUse("none of the brokers in --only is installed: leave it out to see which are")
    console = tables.console()
    if warning := report.busy():
        console.print(warning, style="yellow")
    length = QUICK if quick else harness.FULL
    length = length._replace(seconds=seconds or length.seconds)
    results = harness.run_with_bar(
        console,
        [one for one in SCENARIOS if not scenario or one.name in scenario],
        field,
        length,
        repeat,
    )
    referee = peers.bare_loop()
    alone = [one for one in SCENARIOS if one.name == ONE_A_READ and one.name in results]
    if alone and (not only or referee.name in only):
        bare = harness.run_with_bar(console, alone, [referee], length, repeat)
        results[ONE_A_READ].update(bare[ONE_A_READ])
        field.append(referee)
    report.conclude(console, results, field, out, report.LEGEND)
