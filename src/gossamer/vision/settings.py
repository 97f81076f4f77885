"""What a worker is told at its start; plain data, so that it can travel as JSON."""

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

Scaling = Literal["bytes", "unit", "signed"]

# A photograph of 25 megapixels is 75 MB decoded. Phones that take more send less.
PIXELS: Final = 25_000_000

# The least sure detection of the default models that still counts: SSD's is the one it was chosen
# with; EfficientDet's was picked on two dozen photographs, too few to tell 0.3 from 0.45.
EFFICIENTDET_SCORE: Final = 0.4
SSD_SCORE: Final = 0.55


@dataclass(frozen=True)
class DetectorSettings:
    """A detector of the administrator's own, an ONNX or TFLite file."""

    file: str
    labels: str | None = None  # a file with one name a line; a TFLite file may bring its own
    size: int = 640  # of the square that an ONNX model takes; a TFLite model says it itself
    scaling: Scaling = "unit"  # how a model that takes floats wants the colours
    score: float = 0.5
    person: str = "person"


@dataclass(frozen=True)
class WorkerSettings:
    models: str  # the folder
    detector: DetectorSettings | None = None
    pixels: int = PIXELS
    memory: int = 512 << 20  # bytes that processing may take on top of what the models take
    seconds: float = 10.0  # for one image

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def settings_from_json(data: dict[str, Any]) -> WorkerSettings:
    detector = data.pop("detector")
    return WorkerSettings(
        **data, detector=None if detector is None else DetectorSettings(**detector)
    )
