"""Commands that repeat the experiments of the papers, and what they have in common."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import CommandError, WrongUse

RESULTS = Path("out/experiments")

Scale = Annotated[
    str, typer.Option(help="small (minutes), paper (what the papers did) or large (beyond).")
]
Results = Annotated[Path, typer.Option("--out", help="The folder with the tables of results.")]


def known_scale(scale: str) -> str:
    from gossamer_lab.experiments.experiment import SCALES

    if scale not in SCALES:
        raise WrongUse(f"there is no scale {scale!r}; scales are {', '.join(SCALES)}")
    return scale


def made_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise CommandError(f"cannot write to {folder}: {problem.strerror}") from None
    return folder


def missing(problem: ModuleNotFoundError) -> CommandError:
    """What to install for a package that is not there."""
    extras = {"pyspark": "gossamer[spark]", "matplotlib": "gossamer-lab[plots]"}
    name = (problem.name or "").split(".")[0]
    return CommandError(f"{name} is missing: pip install '{extras.get(name, 'gossamer[data]')}'")
