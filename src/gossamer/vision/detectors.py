"""Detectors: models that find objects, run by LiteRT (TFLite files) or by OpenCV (the others)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gossamer.vision.detections import Array, Detection, read_outputs
from gossamer.vision.model_catalog import EFFICIENTDET, SSD
from gossamer.vision.models import ModelError
from gossamer.vision.settings import EFFICIENTDET_SCORE, SSD_SCORE, DetectorSettings, Scaling

if TYPE_CHECKING:
    from gossamer.vision.images import Image

SSD_SIZE: Final = 320

# Factor and offset that turn a colour of 0 to 255 into what the model takes.
SCALES: Final[dict[Scaling, tuple[float, float]]] = {
    "bytes": (1.0, 0.0),
    "unit": (1 / 255, 0.0),
    "signed": (1 / 127.5, -1.0),
}


class ObjectDetector:
    """Finds objects in an image."""

    def __init__(self, labels: Sequence[str], settings: DetectorSettings) -> None:
        self.labels = labels
        self.settings = settings

    def __call__(self, image: Image) -> list[Detection]:
        size = self.size()
        outputs = self.run(image, size)
        return read_outputs(outputs, self.labels, self.settings.score, size)

    def size(self) -> int:
        """The side of the square that it takes."""
        return self.settings.size

    def run(self, image: Image, size: int) -> list[Array]:
        raise NotImplementedError


class TfliteDetector(ObjectDetector):
    def __init__(self, labels: Sequence[str], settings: DetectorSettings) -> None:
        super().__init__(labels, settings)
        from ai_edge_litert.interpreter import Interpreter

        self._interpreter: Any = Interpreter(settings.file, num_threads=1)
        self._interpreter.allocate_tensors()
        self._input = self._interpreter.get_input_details()[0]
        self._outputs = self._interpreter.get_output_details()

    def size(self) -> int:
        return int(self._input["shape"][1])

    def run(self, image: Image, size: int) -> list[Array]:
        import cv2
        import numpy as np

        height, width = (int(side) for side in self._input["shape"][1:3])
        pixels: Array = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
        pixels = cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB)[np.newaxis]
        if self._input["dtype"] is np.float32:
            factor, offset = SCALES[self.settings.scaling]
            pixels = pixels.astype(np.float32) * np.float32(factor) + np.float32(offset)
        self._interpreter.set_tensor(self._input["index"], pixels.astype(self._input["dtype"]))
        self._interpreter.invoke()
        return [self._interpreter.get_tensor(output["index"]) for output in self._outputs]


class OpencvDetector(ObjectDetector):
    """An ONNX file, or a frozen TensorFlow graph with its description."""

    def __init__(
        self, labels: Sequence[str], settings: DetectorSettings, description: str | None = None
    ) -> None:
        super().__init__(labels, settings)
        import cv2

        if description is None:
            self._net: Any = cv2.dnn.readNetFromONNX(settings.file)
        else:
            self._net = cv2.dnn.readNetFromTensorflow(settings.file, description)
        self._names = self._net.getUnconnectedOutLayersNames()

    def run(self, image: Image, size: int) -> list[Array]:
        import cv2

        factor, offset = SCALES[self.settings.scaling]
        mean = -offset / factor
        blob = cv2.dnn.blobFromImage(image, factor, (size, size), (mean, mean, mean), swapRB=True)
        self._net.setInput(blob)
        return list(self._net.forward(self._names))


def configured_detector(settings: DetectorSettings) -> ObjectDetector:
    """The administrator's own."""
    path = Path(settings.file)
    if not path.is_file():
        raise ModelError(f"vision.detector.file: there is no {path}")
    if path.suffix == ".tflite":
        return TfliteDetector(_labels(settings), settings)
    return OpencvDetector(_labels(settings), settings)


def efficientdet(folder: Path) -> ObjectDetector:
    file = str(folder / EFFICIENTDET.files[0].name)
    settings = DetectorSettings(file, scaling="bytes", score=EFFICIENTDET_SCORE)
    return TfliteDetector(_labels(settings), settings)


def ssd(folder: Path) -> ObjectDetector:
    graph, description, labels = (str(folder / file.name) for file in SSD.files)
    settings = DetectorSettings(graph, labels, SSD_SIZE, "signed", SSD_SCORE)
    return OpencvDetector(_labels(settings), settings, description)


def _labels(settings: DetectorSettings) -> list[str]:
    """From their file, or from the archive that a TFLite file may end with."""
    if settings.labels is not None:
        try:
            return Path(settings.labels).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"vision.detector.labels: {settings.labels}: {error}") from error
    import zipfile  # for a worker that reads one

    if not zipfile.is_zipfile(settings.file):
        raise ModelError(f"{settings.file} has no labels in it: vision.detector.labels must")
    with zipfile.ZipFile(settings.file) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".txt"))
        return archive.read(name).decode().splitlines()
