"""All pipelines, in the order in which they are listed."""

from typing import Final

from gossamer.spark.pipelines.geo import GEO
from gossamer.spark.pipelines.insight import INSIGHT
from gossamer.spark.pipelines.lake import LAKE
from gossamer.spark.pipelines.pipeline import Pipeline, PipelineError

PIPELINES: Final = (LAKE, GEO, INSIGHT)


def find(name: str) -> Pipeline:
    for pipeline in PIPELINES:
        if pipeline.name == name:
            return pipeline
    known = ", ".join(pipeline.name for pipeline in PIPELINES)
    raise PipelineError(f"there is no pipeline {name!r}; pipelines are {known}")
