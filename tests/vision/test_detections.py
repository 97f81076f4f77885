"""What output arrays mean, and bodies and faces counted together."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.vision.detections import Detection, read_outputs
from gossamer.vision.faces import Face
from gossamer.vision.image_processors import joint_count
from gossamer.vision.models import ModelError

LABELS = ["person", "dog", "cat"]
SIZE = 100
PLACES = 2_000  # that a detector looks at and finds nothing

# A dog in the left half, a cat at the right edge, and a person that the detector is not sure of.
BOXES = [(0.0, 0.0, 0.5, 1.0), (0.75, 0.25, 1.0, 0.75), (0.0, 0.0, 1.0, 1.0)]
KINDS = [1, 2, 0]
SCORES = [0.9, 0.75, 0.25]
EXPECTED = [("dog", 0.9, *BOXES[0]), ("cat", 0.75, *BOXES[1])]


def array(rows: object) -> np.ndarray:
    return np.array(rows, np.float32)


def lists(swapped: bool) -> list[np.ndarray]:
    boxes = array([[(top, left, bottom, right) for left, top, right, bottom in BOXES]])
    kinds, scores = array([KINDS]), array([SCORES])
    columns = [scores, kinds] if swapped else [kinds, scores]
    return [boxes, *columns, array([3])]


def centred(scale: float, objectness: bool) -> np.ndarray:
    rows = []
    for (left, top, right, bottom), kind, score in zip(BOXES, KINDS, SCORES, strict=True):
        box = [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top]
        scores = [0.0] * len(LABELS)
        scores[kind] = score
        certainty = [1.0] if objectness else []
        rows.append([one * scale for one in box] + certainty + scores)
        rows.append([one * scale * 0.99 for one in box] + certainty + [s / 1.1 for s in scores])
    nothing = [[0.0] * len(rows[0])] * PLACES
    return array([rows + nothing])


LAYOUTS = {
    "TFLite": lists(swapped=False),
    "TFLite, swapped": lists(swapped=True),
    "SSD": [
        array([[[[0, k + 1, s, *box] for box, k, s in zip(BOXES, KINDS, SCORES, strict=True)]]])
    ],
    "end to end": [
        array(
            [
                [
                    [*(SIZE * edge for edge in box), s, k]
                    for box, k, s in zip(BOXES, KINDS, SCORES, strict=True)
                ]
            ]
        )
    ],
    "YOLO 5, pixels": [centred(SIZE, objectness=True)],
    "YOLO 8, pixels": [centred(SIZE, objectness=False).transpose(0, 2, 1)],
    "YOLO 8, shares": [centred(1.0, objectness=False).transpose(0, 2, 1)],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str) -> None:
    found = read_outputs(LAYOUTS[layout], LABELS, 0.5, SIZE)
    assert [one.label for one in found] == [label for label, *_ in EXPECTED]
    for one, (_, score, *box) in zip(found, EXPECTED, strict=True):
        assert one.score == pytest.approx(score)
        assert (one.left, one.top, one.right, one.bottom) == pytest.approx(box)


@pytest.mark.parametrize(
    "outputs",
    [
        [],
        [np.zeros((1, 10), np.float32)],
        [np.zeros((1, 10, 50), np.float32)],
        [np.zeros((1, 10), np.float32)] * 2,
        [np.zeros((1, 10), np.float32)] * 4,
    ],
)
def test_other_layouts_are_refused(outputs: list[np.ndarray]) -> None:
    with pytest.raises(ModelError):
        read_outputs(outputs, LABELS, 0.5, SIZE)


def test_a_class_without_a_name_is_called_by_its_number() -> None:
    rows = array([[[0, 0, 50, 50, 0.9, 7]]])
    assert read_outputs([rows], LABELS, 0.5, SIZE)[0].label == "7"


edges = st.tuples(st.integers(0, 3), st.integers(1, 3))


@given(
    spans=st.lists(edges, max_size=4),
    places=st.lists(st.integers(0, 6), max_size=4),
)
def test_nobody_is_counted_twice(spans: list[tuple[int, int]], places: list[int]) -> None:
    bodies = [Detection("person", 1.0, left, 0, left + width, 1) for left, width in spans]
    faces = [Face(place, 0.5, np.zeros((5, 2))) for place in places]
    most = 0  # faces that bodies can claim at best, each one of its own
    for order in permutations([*range(len(faces)), *([None] * len(bodies))], len(bodies)):
        claimed = [
            bodies[body].holds(faces[face].x, faces[face].y)
            for body, face in enumerate(order)
            if face is not None
        ]
        most = max(most, sum(claimed))
    assert joint_count(bodies, faces) == len(bodies) + len(faces) - most
