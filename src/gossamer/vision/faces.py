"""Faces in an image (YuNet), and an estimate of the gender of each.

The estimate is one from visible faces by a small network: it says what a face looks like to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gossamer.vision.detections import Array
from gossamer.vision.images import shrunk
from gossamer.vision.model_catalog import GENDER, YUNET

if TYPE_CHECKING:
    from gossamer.vision.images import Image

# At 0.7 the clutter behind a motorcycle still had a face.
FACE_SCORE: Final = 0.8
# Of faces that share more than this of their area, one is kept.
FACE_OVERLAP: Final = 0.3
MOST_FACES: Final = 1_000

# Faces of ten pixels are found, so a larger image gains nothing but time.
LONGEST_SIDE: Final = 1280

# The network was trained on faces of 32 × 32 pixels, with a fifth of their size around them and
# these points (eyes, nose, corners of the mouth) at these places, less these mean colours.
CHIP_SIZE: Final = 32
CHIP_PADDING: Final = 0.2
CHIP_POINTS: Final = (
    (0.2273, 0.2214),
    (0.7528, 0.2212),
    (0.4901, 0.5156),
    (0.2541, 0.7802),
    (0.7261, 0.7802),
)
CHIP_MEANS: Final = (122.782, 117.001, 104.298)
CHIP_RANGE: Final = 256.0
# The chip is cut at this multiple and then averaged down, for a large face would flicker else.
OVERSAMPLING: Final = 4


@dataclass(frozen=True)
class Face:
    """Its middle, in shares of the image, and five points of it in pixels."""

    x: float
    y: float
    points: Array


class FaceFinder:
    def __init__(self, folder: Path) -> None:
        import cv2

        file = str(folder / YUNET.files[0].name)
        self._model: Any = cv2.FaceDetectorYN.create(
            file, "", (LONGEST_SIDE, LONGEST_SIDE), FACE_SCORE, FACE_OVERLAP, MOST_FACES
        )

    def find(self, image: Image) -> list[Face]:
        smaller, factor = shrunk(image, LONGEST_SIDE)
        height, width = smaller.shape[:2]
        self._model.setInputSize((width, height))
        _, rows = self._model.detect(smaller)
        if rows is None:
            return []
        return [
            Face(
                float(row[0] + row[2] / 2) / width,
                float(row[1] + row[3] / 2) / height,
                row[4:14].reshape(5, 2).astype(np.float64) / factor,
            )
            for row in rows
        ]


class GenderGuess:
    def __init__(self, folder: Path) -> None:
        import cv2

        self._net: Any = cv2.dnn.readNetFromONNX(str(folder / GENDER.files[0].name))

        self._female_share(np.zeros((CHIP_SIZE, CHIP_SIZE, 3), np.uint8))  # loads all it needs

    def is_female(self, image: Image, face: Face) -> bool:
        return self._female_share(_chip(image, face.points)) > 0.5

    def _female_share(self, chip: Array) -> float:
        """How sure it is, from 0 to 1."""
        chip = chip[:, :, ::-1].astype(np.float32)
        chip = (chip - np.array(CHIP_MEANS, np.float32)) / np.float32(CHIP_RANGE)
        self._net.setInput(np.ascontiguousarray(chip.transpose(2, 0, 1)[np.newaxis]))
        return float(self._net.forward().flat[0])


def _chip(image: Image, points: Array) -> Array:
    """The face, upright and of the size that the network takes."""
    import cv2

    places = (np.array(CHIP_POINTS) + CHIP_PADDING) / (1 + 2 * CHIP_PADDING) * CHIP_SIZE
    side = CHIP_SIZE * OVERSAMPLING
    large = cv2.warpAffine(image, _similarity(points, places) * OVERSAMPLING, (side, side))
    chip: Array = cv2.resize(large, (CHIP_SIZE, CHIP_SIZE), interpolation=cv2.INTER_AREA)
    return chip


def _similarity(points: Array, places: Array) -> Array:
    """The turn, scale and shift that brings the points nearest to the places (least squares)."""
    middle, target = points.mean(axis=0), places.mean(axis=0)
    x, y = (points - middle).T
    to_x, to_y = (places - target).T
    spread = max(float((x * x + y * y).sum()), 1e-9)
    along = float((x * to_x + y * to_y).sum()) / spread
    across = float((x * to_y - y * to_x).sum()) / spread
    turn = np.array([[along, -across], [across, along]])
    return np.hstack([turn, (target - turn @ middle)[:, np.newaxis]])
