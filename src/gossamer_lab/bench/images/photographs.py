"""Images to measure with: the user's own, or those that installed packages happen to have."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

KNOWN: Final = (
    ("skimage", "data/astronaut.png"),
    ("skimage", "data/camera.png"),
    ("skimage", "data/coffee.png"),
    ("skimage", "data/rocket.jpg"),
    ("matplotlib", "mpl-data/sample_data/grace_hopper.jpg"),
)


def photographs(files: Sequence[Path]) -> dict[str, bytes]:
    """Name to content. A drawn one where there is no other."""
    paths = list(files) or [path for path in map(_found, KNOWN) if path is not None]
    return {path.name: path.read_bytes() for path in paths} or {"noise.jpg": _noise()}


def _found(known: tuple[str, str]) -> Path | None:
    package, name = known
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / name
    return path if path.is_file() else None


def _noise() -> bytes:
    import cv2
    import numpy as np

    pixels = np.random.default_rng(1).integers(0, 256, (480, 640, 3), np.uint8)
    return bytes(cv2.imencode(".jpg", pixels)[1])
