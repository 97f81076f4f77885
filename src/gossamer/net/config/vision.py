"""`[vision]`: processors, such as those that look at images."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from gossamer.net.config.section import Section
from gossamer.net.config.units import Duration, FilePath, Size
from gossamer.vision.pool import PoolLimits
from gossamer.vision.settings import PIXELS


class Detector(Section):
    """A detector of your own instead of the installed one."""

    file: FilePath = Field(description="An ONNX or TFLite model.")
    labels: FilePath | None = Field(
        default=None,
        description="The names of what it finds, one a line; a TFLite file may bring its own.",
    )
    person: str = Field(default="person", description="The name that `$CNTPPL` counts.")
    score: float = Field(
        default=0.5, gt=0, le=1, description="Detections that are less sure do not count."
    )
    size: int = Field(
        default=640,
        ge=32,
        le=4096,
        description="Side of the square of pixels that an ONNX model takes.",
    )
    scaling: Literal["bytes", "unit", "signed"] = Field(
        default="unit",
        description="How a model that takes floats wants colours: 0 to 255, 0 to 1, or -1 to 1.",
    )


class Vision(Section):
    """`docs/vision.md` says more."""

    enabled: bool = Field(default=True, description="Whether there are processors at all.")
    models: FilePath | None = Field(
        default=None,
        description="Folder of the models; by default where `gossamer models install` puts them.",
    )
    detector: Detector | None = Field(default=None, description="A model of your own.")
    workers: int = Field(
        default=PoolLimits.workers,
        ge=1,
        le=64,
        description="Processes at most; they start when there is work.",
    )
    timeout: Duration = Field(default=10.0, gt=0, description="Time for one image.")
    memory: Size = Field(
        default=512 << 20,
        ge=64 << 20,
        description="What processing may take in one worker, on top of the models.",
    )
    pixels: int = Field(
        default=PIXELS, ge=1, description="Larger images are refused before they are decoded."
    )
    queue: int = Field(
        default=PoolLimits.queue, ge=1, description="Images that wait; more are dropped."
    )
    queue_bytes: Size = Field(
        default=PoolLimits.queue_bytes, ge=1, description="Bytes of images that wait."
    )

    def at(self, folder: Path) -> "Vision":
        """With every path taken relative to `folder`."""
        detector = self.detector
        if detector is not None:
            paths = {"file": detector.file, "labels": detector.labels}
            found = {name: folder / path for name, path in paths.items() if path is not None}
            detector = detector.model_copy(update=found)
        models = None if self.models is None else folder / self.models
        return self.model_copy(update={"models": models, "detector": detector})
