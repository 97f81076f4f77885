"""Models for the tests of the room."""

from pathlib import Path

import pytest

from gossamer.vision.model_catalog import SSD
from gossamer.vision.models import default_models
from tests.support.model_folders import folder_with


@pytest.fixture(scope="session")
def models(pytestconfig: pytest.Config) -> Path:
    """A folder with the default models."""
    return folder_with(default_models(), "gossamer-models", pytestconfig)


@pytest.fixture(scope="session")
def ssd_models(pytestconfig: pytest.Config) -> Path:
    """A folder with the detector that needs pip alone."""
    return folder_with((SSD,), "gossamer-ssd", pytestconfig)
