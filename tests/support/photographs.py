"""Photographs that are inside other packages, with what can be seen in them."""

from importlib.util import find_spec
from pathlib import Path

import pytest

# Package and path in it, people, females among the visible faces (None: see docs/vision.md),
# and an object that is there.
PHOTOGRAPHS = {
    "astronaut": ("skimage", "data/astronaut.png", 1, 1, "person"),
    "camera": ("skimage", "data/camera.png", 1, 0, "person"),
    "chelsea": ("skimage", "data/chelsea.png", 0, 0, "cat"),
    "coffee": ("skimage", "data/coffee.png", 0, 0, "cup"),
    "rocket": ("skimage", "data/rocket.jpg", 0, 0, None),
    "grace_hopper": ("matplotlib", "mpl-data/sample_data/grace_hopper.jpg", 1, None, "person"),
}


def photograph(name: str) -> bytes:
    package, path, *_ = PHOTOGRAPHS[name]
    found = find_spec(package)
    if found is None or found.origin is None:
        pytest.skip(f"{package}, which has the photograph {name}, is not installed")
    return (Path(found.origin).parent / path).read_bytes()
