"""Nothing that a broker does over and over leaves cycles behind: reference counts free all of it.

A collector that walked all that is alive would make every client wait, so in a broker it hardly
ever does (`net/event_loop.py`); what only it could free would be memory that a stranger can fill.
"""

import gc
from collections import Counter
from collections.abc import Callable

import pytest

from tests.leaks.computing_paths import COMPUTING
from tests.leaks.connection_paths import CONNECTIONS
from tests.leaks.mesh_paths import MESH
from tests.leaks.message_paths import FLOWS
from tests.support.leakage import Round

ROUNDS = 20
# Rounds that may leave one thing behind: what is made once, late.
SELDOM = 4

# A link that goes down leaves its dialling side, some kilobytes, to the hourly walk: that is no
# stranger's to repeat.
MESSAGES_BETWEEN_BROKERS = {name: path for name, path in MESH.items() if "links" not in name}
PATHS: dict[str, Callable[[], Round]] = {
    **FLOWS,
    **CONNECTIONS,
    **COMPUTING,
    **MESSAGES_BETWEEN_BROKERS,
}


def left_to_the_collector(path: Round) -> Counter[str]:
    """By type: what only the collector finds after so many rounds."""
    for _ in range(3):
        path()
    gc.collect()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        for _ in range(ROUNDS):
            path()
        gc.collect()
        found = Counter(type(thing).__name__ for thing in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
        gc.collect()
    return Counter({name: count for name, count in found.items() if count > SELDOM})


@pytest.mark.parametrize("name", PATHS)
def test_a_path_leaves_no_cycles(name: str) -> None:
    assert left_to_the_collector(PATHS[name]()) == Counter()


def test_a_cycle_is_found() -> None:
    def leave() -> None:
        ring: list[object] = []
        ring.append(ring)

    assert left_to_the_collector(leave)["list"] == ROUNDS
