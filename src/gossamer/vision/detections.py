"""What a detector's output arrays mean: boxes, each with a name and a score.

Detectors write their findings in one of a few layouts, told apart by the shapes of their arrays.
Boxes are shares of the image's width and height, so that they hold at any size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gossamer.vision.models import ModelError

Array = NDArray[Any]

# Boxes of the same kind that share more than this of their area are taken for one object.
OVERLAP: Final = 0.45

# Coordinates over this are in pixels; shares can only be a little over 1, beyond the edge.
LARGEST_SHARE: Final = 2.0

# Detectors that sort out overlaps themselves give no more; others look at thousands of places.
MOST_FINAL: Final = 1_000


@dataclass(frozen=True)
class Detection:
    label: str
    score: float
    left: float
    top: float
    right: float
    bottom: float

    def holds(self, x: float, y: float) -> bool:
        return self.left <= x <= self.right and self.top <= y <= self.bottom


def read_outputs(
    outputs: Sequence[Array], labels: Sequence[str], least: float, size: int
) -> list[Detection]:
    """The detections of at least that score. `size` is the side of the square that went in."""
    if len(outputs) == 4:
        boxes, classes, scores = _listed(outputs)
    elif len(outputs) == 1:
        boxes, classes, scores = _table(outputs[0], labels, least, size)
    else:
        raise ModelError(f"a detector with {len(outputs)} outputs is not known here")
    return [
        Detection(_name(labels, int(kind)), float(score), *(float(edge) for edge in box))
        for box, kind, score in zip(boxes, classes, scores, strict=True)
        if score >= least
    ]


def _name(labels: Sequence[str], kind: int) -> str:
    return labels[kind] if 0 <= kind < len(labels) else str(kind)


def _listed(outputs: Sequence[Array]) -> tuple[Array, Array, Array]:
    """TFLite's own: boxes (top, left, bottom, right), classes, scores, and how many of them."""
    boxes = next((array[0] for array in outputs if array.ndim == 3), None)
    columns = [array[0] for array in outputs if array.ndim == 2]
    count = next((int(array.flat[0]) for array in outputs if array.ndim == 1), None)
    if boxes is None or len(columns) != 2 or count is None:
        raise ModelError(f"outputs of the shapes {_shapes(outputs)} are not known here")
    classes, scores = columns
    if np.any(classes != np.round(classes)):  # Some models give them in the other order.
        classes, scores = scores, classes
    return boxes[:count, [1, 0, 3, 2]], classes[:count], scores[:count]


def _table(
    output: Array, labels: Sequence[str], least: float, size: int
) -> tuple[Array, Array, Array]:
    if output.ndim == 4 and output.shape[-1] == 7:
        rows = output.reshape(-1, 7)  # SSD: image, class from 1, score, left, top, right, bottom
        return rows[:, 3:7], rows[:, 1] - 1, rows[:, 2]
    if output.ndim != 3:
        raise ModelError(f"an output of the shape {_shapes([output])} is not known here")
    rows = output[0]
    if rows.shape[1] == 6 and rows.shape[0] <= MOST_FINAL:
        # Without overlaps already: left, top, right, bottom, score, class.
        return _shares(rows[:, :4], size), rows[:, 5], rows[:, 4]
    if rows.shape[0] < rows.shape[1]:
        rows = rows.T  # there are more places to look at than kinds of things
    if rows.shape[1] == 4 + len(labels):
        scores = rows[:, 4:]
    elif rows.shape[1] == 5 + len(labels):
        scores = rows[:, 5:] * rows[:, 4:5]
    else:
        raise ModelError(
            f"an output of the shape {_shapes([output])} does not go with {len(labels)} labels"
        )
    return _distinct(rows[:, :4], scores, least, size)


def _distinct(
    centred: Array, all_scores: Array, least: float, size: int
) -> tuple[Array, Array, Array]:
    """Of YOLO's many boxes (centre, width, height), the best one of each object."""
    import cv2

    classes = all_scores.argmax(axis=1)
    scores = all_scores.max(axis=1)
    sure = scores >= least
    centred, classes, scores = centred[sure], classes[sure], scores[sure]
    half = centred[:, 2:4] / 2
    boxes = _shares(np.hstack([centred[:, :2] - half, centred[:, :2] + half]), size)
    sides = np.hstack([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]])  # left, top, width, height
    columns = (sides.tolist(), scores.tolist(), classes.tolist())
    kept = list(cv2.dnn.NMSBoxesBatched(*columns, -1.0, OVERLAP))
    return boxes[kept], classes[kept], scores[kept]


def _shares(boxes: Array, size: int) -> Array:
    in_pixels = boxes.size and float(np.abs(boxes).max()) > LARGEST_SHARE
    return boxes / size if in_pixels else boxes


def _shapes(outputs: Sequence[Array]) -> str:
    return ", ".join("×".join(str(side) for side in array.shape) for array in outputs)
