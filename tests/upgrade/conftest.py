"""Every test of the room runs for the fixtures of every version that there are."""

from pathlib import Path

import pytest

from tests.support.kept_fixtures import FIXTURES, Fixture


@pytest.fixture(params=FIXTURES, ids=lambda fixture: fixture.version)
def fixture(request: pytest.FixtureRequest) -> Fixture:
    found = request.param
    assert isinstance(found, Fixture)
    return found


@pytest.fixture
def data(fixture: Fixture, tmp_path: Path) -> Path:
    """The data folder of one broker with its archive."""
    return fixture.unpack("broker", tmp_path / "data")
