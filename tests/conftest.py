"""Set-up of every test run: fresh compiled modules, one hypothesis profile, second chances.

Tests of the core decide from their input alone, so a failure there is a failure. Tests that use
real sockets and processes share the machine with whatever else runs on it: they get two more
tries, which pytest reports as "rerun".
"""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tools.compile_core import stale_reason

ROOMS_OF_THE_REAL_WORLD = {
    "bench",
    "cli",
    "console",
    "interop",
    "net",
    "spark",
    "torture",
    "vision",
}
RERUNS = 2
LONGEST_NAME = 60

settings.register_profile(
    "gossamer",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    print_blob=True,
    derandomize="CI" in os.environ,
    max_examples=20 if os.environ.get("GOSSAMER_EXAMPLES") == "quick" else 100,
)
settings.load_profile("gossamer")


def pytest_configure() -> None:
    reason = stale_reason()
    if reason and os.environ.get("GOSSAMER_PURE") != "1":
        raise pytest.UsageError(reason)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Long texts (packets, hashes with fresh salt) do not name a case: workers must agree on it."""
    return argname if isinstance(val, str | bytes) and len(val) > LONGEST_NAME else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        room = item.path.relative_to(here).parts[0]
        if room in ROOMS_OF_THE_REAL_WORLD or item.get_closest_marker("processes"):
            item.add_marker(pytest.mark.flaky(reruns=RERUNS, reruns_delay=1))
