"""Set-up of every test run: fresh compiled modules, one hypothesis profile, named second chances.

A failure is a failure. A test that depends on what nobody here can hold still is marked with
`flaky_because("the reason")`: it gets two more tries, each of which is shown with that reason at
the end of the run. There may be few of them.
"""

import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support.logs import log_of
from tools.compile_core import stale_reason

RERUNS = 2
MOST_FLAKY = 19
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


@pytest.fixture(autouse=True)
def _no_faults(request: pytest.FixtureRequest) -> Iterator[None]:
    """An exception inside the broker ends one connection or timer; no test may pass over it."""
    if request.node.get_closest_marker("faults"):
        yield
        return
    with log_of("gossamer.session.counters", logging.ERROR) as said:
        yield
    if said:
        pytest.fail("the broker noted: " + "; ".join(said))


def pytest_configure() -> None:
    reason = stale_reason()
    if reason and os.environ.get("GOSSAMER_PURE") != "1":
        raise pytest.UsageError(reason)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Long texts (packets, hashes with fresh salt) do not name a case: workers must agree on it."""
    return argname if isinstance(val, str | bytes) and len(val) > LONGEST_NAME else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    flaky: set[str] = set()
    for item in items:
        marker = item.get_closest_marker("flaky_because")
        if marker is None:
            continue
        name = item.nodeid.partition("[")[0]
        if item.get_closest_marker("flaky_because") not in item.own_markers:
            raise pytest.UsageError(f"{name}: flaky_because is for a single test, not for a file")
        if not (len(marker.args) == 1 and isinstance(marker.args[0], str) and marker.args[0]):
            raise pytest.UsageError(f"{name}: flaky_because takes one text, the reason")
        flaky.add(name)
        item.add_marker(pytest.mark.flaky(reruns=RERUNS, reruns_delay=1))
    if len(flaky) > MOST_FLAKY:
        raise pytest.UsageError(
            f"{len(flaky)} tests are flaky_because, {MOST_FLAKY} may be: mend the cause of some"
        )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Every rerun, with its reason: a pass at the second try is to be looked at."""
    for report in terminalreporter.stats.get("rerun", ()):
        reasons = [value for name, value in report.user_properties if name == "flaky_because"]
        terminalreporter.write_line(f"RERUN {report.nodeid}: {', '.join(reasons)}")


def pytest_runtest_setup(item: pytest.Item) -> None:
    marker = item.get_closest_marker("flaky_because")
    if marker is not None and not item.user_properties:
        item.user_properties.append(("flaky_because", marker.args[0]))
