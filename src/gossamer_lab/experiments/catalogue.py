"""All experiments by name, in the order of the report. Each is one file of `studies/`."""

from importlib import import_module
from typing import Final

from gossamer_lab.experiments.experiment import Experiment

NAMES: Final = (
    "bloom-queries",
    "bloom-errors",
    "bloom-broker",
    "testbed-grid",
    "testbed-shapes",
    "mesh-traffic",
    "mesh-hotspots",
    "mesh-deliveries",
    "mesh-summaries",
    "plus-scalars",
    "plus-images",
    "geo-matching",
    "geo-traffic",
    "mesh-healing",
    "beyond-scale",
)


class UnknownExperiment(LookupError):
    """The text names those there are."""


def find(name: str) -> Experiment:
    """Raises UnknownExperiment."""
    if name not in NAMES:
        raise UnknownExperiment(f"no experiment {name!r}; there are {', '.join(NAMES)}")
    module = import_module(f"gossamer_lab.experiments.studies.{name.replace('-', '_')}")
    experiment: Experiment = module.EXPERIMENT
    return experiment


def everything() -> list[Experiment]:
    return [find(name) for name in NAMES]
