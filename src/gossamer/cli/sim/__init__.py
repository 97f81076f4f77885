"""`gossamer sim`: the scenario of the paper on the brokers that ship, on a virtual network."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from gossamer.cli.errors import WrongUse
from gossamer.cli.sim.tables import show_result
from gossamer.mesh.settings import MODES
from gossamer.sim.scenario.running import Scenario
from gossamer.sim.scenario.saving import save
from gossamer.sim.scenario.settings import ScenarioSettings

_DEFAULTS = ScenarioSettings()


def sim(
    context: typer.Context,
    brokers: Annotated[
        int, typer.Option("--brokers", min=2, help="In the mesh.")
    ] = _DEFAULTS.brokers,
    subscribers: Annotated[
        int, typer.Option("--subscribers", min=1, help="On all brokers together.")
    ] = _DEFAULTS.subscribers,
    publishers: Annotated[
        int, typer.Option("--publishers", min=1, help="On all brokers together.")
    ] = _DEFAULTS.publishers,
    mode: Annotated[
        str, typer.Option("--mode", help=f"One of {', '.join(MODES)}.")
    ] = _DEFAULTS.mode,
    alpha: Annotated[
        float, typer.Option("--alpha", min=0, max=1, help="How often a filter has a +.")
    ] = _DEFAULTS.alpha,
    seed: Annotated[int, typer.Option("--seed", help="Decides everything.")] = _DEFAULTS.seed,
    seconds: Annotated[
        float, typer.Option("--seconds", min=1, help="How long clients publish.")
    ] = _DEFAULTS.seconds,
    payload: Annotated[
        int, typer.Option("--payload", min=16, help="Bytes of a message.")
    ] = _DEFAULTS.payload,
    settled: Annotated[
        bool, typer.Option("--settled", help="Publish once all subscriptions are known.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="A folder for the results as Parquet.")
    ] = None,
) -> None:
    """Simulate a mesh: the brokers that ship, on a virtual network."""
    if context.invoked_subcommand is not None:
        return
    if mode not in MODES:
        raise WrongUse(f"--mode is one of {', '.join(MODES)}, not {mode!r}")
    settings = ScenarioSettings(
        brokers,
        subscribers,
        publishers,
        mode,
        alpha,
        seed=seed,
        seconds=seconds,
        payload=payload,
        settled=settled,
    )
    with Progress() as progress:
        bar = progress.add_task("building", total=1.0)
        result = Scenario(settings).run(
            lambda part, what: progress.update(bar, completed=part, description=what)
        )
    show_result(result, Console())
    if out is not None:
        save(result, out)
        typer.echo(f"results are in {out}")
