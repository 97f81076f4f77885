"""Nothing that a broker does over and over leaves memory behind, compiled or not.

Each path of the tables is taken some thousand times, a path through a mesh some hundred times. The
compiler is part of what is tested: mypyc up to 1.20 forgot the intermediate result of ``a + b + c``
over bytes, and every message of most mixes of version and QoS left 96 to 193 bytes.
"""

import ctypes
from collections.abc import Callable

import pytest

from tests.leaks.computing_paths import COMPUTING
from tests.leaks.connection_paths import CONNECTIONS
from tests.leaks.mesh_paths import MESH
from tests.leaks.message_paths import FLOWS, MIXES
from tests.support.leakage import Round, growth, resident_bytes

Prepare = Callable[[], Round]

# Rounds in each of six intervals, and before the first: by how long a round of the table takes.
ROUNDS = 300
LONG_ROUNDS = 60
MESH_ROUNDS = 20
# Of each mix, three messages a round: 100 bytes left by half of the messages would be 3.6 MB.
RESIDENT_ROUNDS = 500
RESIDENT_BYTES = 2 * 1024 * 1024


# Longer and longer: what is swept now and then, or fills slowly, has an end; a leak has none.
LOOKS = (1, 4, 16)


def check(prepare: Prepare, rounds: int) -> None:
    path = prepare()
    for longer in LOOKS:
        found = growth(path, longer * rounds, longer * rounds)
        if not found.trouble():
            break
    assert found.trouble() == ""


@pytest.mark.parametrize("name", MIXES)
def test_a_mix_of_versions_and_qos(name: str) -> None:
    check(MIXES[name], ROUNDS)


@pytest.mark.parametrize("name", FLOWS)
def test_a_flow(name: str) -> None:
    check(FLOWS[name], ROUNDS)


@pytest.mark.parametrize("name", CONNECTIONS)
def test_a_connection(name: str) -> None:
    check(CONNECTIONS[name], LONG_ROUNDS if "malformed" in name else ROUNDS)


@pytest.mark.parametrize("name", COMPUTING)
def test_an_operator(name: str) -> None:
    check(COMPUTING[name], LONG_ROUNDS)


@pytest.mark.parametrize("name", MESH)
def test_a_mesh(name: str) -> None:
    check(MESH[name], MESH_ROUNDS)


def test_there_are_48_mixes() -> None:
    assert len(MIXES) == 48


def test_resident_memory_is_flat() -> None:
    paths = [prepare() for prepare in MIXES.values()]

    def all_mixes(rounds: int) -> None:
        for path in paths:
            for _ in range(rounds):
                path()

    all_mixes(50)
    before = resident_bytes()
    all_mixes(RESIDENT_ROUNDS)
    assert resident_bytes() - before < RESIDENT_BYTES


# The harness itself: each of these has to turn it red ---------------------------------------------


def test_a_missing_decrement_is_found() -> None:
    """What the compiler did: an object that nobody knows of any more."""
    number = 0

    def leak() -> None:
        nonlocal number
        number += 1
        forgotten = b"the intermediate result " + str(number).encode()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(forgotten))

    assert "blocks" in growth(leak, 100, 100).trouble()


def test_a_large_object_is_found() -> None:
    kept: list[bytes] = []
    assert "bytes of large" in growth(lambda: kept.append(bytes(2000)), 100, 100).trouble()


def test_a_table_that_only_grows_is_found() -> None:
    kept: list[list[int]] = []
    assert "of list" in growth(lambda: kept.append([len(kept)]), 100, 100).trouble()


def test_a_leak_in_a_path_through_the_broker_is_found() -> None:
    path = MIXES["5.0 to 3.1.1, QoS 1 to QoS 1"]()
    kept: list[object] = []

    def leak() -> None:
        path()
        kept.append(object())

    assert growth(path, 50, 50).trouble() == ""
    assert growth(leak, 50, 50).trouble() != ""


def test_a_cache_that_fills_is_no_leak() -> None:
    cache: dict[int, str] = {}
    number = 0

    def fill() -> None:
        nonlocal number
        number += 1
        cache[number % 300] = str(number)

    assert growth(fill, 100, 100).trouble() == ""
