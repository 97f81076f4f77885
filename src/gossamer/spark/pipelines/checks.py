"""What can be found wrong with a run before Spark takes its time to start."""

from typing import Final

from gossamer.spark.pipelines.pipeline import Pipeline, PipelineError, PipelineSettings
from gossamer.spark.source.replay import SourceError, find_replays
from gossamer.spark.source.settings import read_settings

# A broker that is not there at the start is an error; one that goes away later is waited for.
_PATIENCE_SECONDS: Final = 0.0


def check(pipeline: Pipeline, settings: PipelineSettings) -> None:
    """ValueError if the source's options mean nothing, PipelineError if it could not run."""
    asked = read_settings(settings.source_options())
    pipeline.check(settings)
    try:
        find_replays(asked.addresses, asked.credentials, _PATIENCE_SECONDS)
    except SourceError as problem:
        raise PipelineError(str(problem)) from problem
