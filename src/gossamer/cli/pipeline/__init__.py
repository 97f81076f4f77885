"""`gossamer pipeline`: what comes through the brokers, kept and put in order by Spark."""

from types import ModuleType

from gossamer.cli.errors import CommandError


def pipelines() -> ModuleType:
    """The catalogue; CommandError where Spark is not installed."""
    try:
        from gossamer.spark.pipelines import catalog
    except ImportError as problem:
        raise CommandError(f"{problem.name} is missing: pip install 'gossamer[spark]'") from None
    return catalog
