"""The broker of these tests: once without a store, once with one that commits after each packet."""

import pytest

from tests.support.durable_world import DurableWorld
from tests.support.memory import World


@pytest.fixture(params=[World, DurableWorld], ids=["memory", "store"])
def world(request: pytest.FixtureRequest) -> World:
    made = request.param()
    assert isinstance(made, World)
    return made
