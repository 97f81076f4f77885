"""`gossamer sim`: the scenario of the paper on the brokers that ship, on a virtual network."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from gossamer.cli.errors import WrongUse
from gossamer.mesh.settings import MODES
from gossamer_lab.cli.sim.tables import show_result
from gossamer_lab.scenarios.result_files import save
from gossamer_lab.scenarios.scenario import Scenario
from gossamer_lab.scenarios.settings import ScenarioSettings

_DEFAULTS = ScenarioSettings()


def sim(
    context: typer.Context,
    brokers: Annotated[
        int, typer.Option("--brokers", min=2, help="Brokers in the mesh.")
    ] = _DEFAULTS.brokers,
    subscribers: Annotated[
        int, typer.Option("--subscribers", min=1, help="In total, over all brokers.")
    ] = _DEFAULTS.subscribers,
    publishers: Annotated[
        int, typer.Option("--publishers", min=1, help="In total, over all brokers.")
    ] = _DEFAULTS.publishers,
    mode: Annotated[
        str, typer.Option("--mode", help=f"One of {', '.join(MODES)}.")
    ] = _DEFAULTS.mode,
    alpha: Annotated[
        float, typer.Option("--alpha", min=0, max=1, help="Share of filters with a +.")
    ] = _DEFAULTS.alpha,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = _DEFAULTS.seed,
    seconds: Annotated[
        float, typer.Option("--seconds", min=1, help="Seconds that clients publish for.")
    ] = _DEFAULTS.seconds,
    payload: Annotated[
        int, typer.Option("--payload", min=16, help="Payload size in bytes.")
    ] = _DEFAULTS.payload,
    settled: Annotated[
        bool, typer.Option("--settled", help="Publish only when all subscriptions are known.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the results (Parquet).")
    ] = None,
) -> None:
    """Simulate a mesh: the real broker code on a virtual network."""
    if context.invoked_subcommand is not None:
        return
    if mode not in MODES:
        raise WrongUse(f"--mode must be one of {', '.join(MODES)}, not {mode!r}")
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
