"""All budgets together are at most a stated share of the memory, on a small box as on a large."""

import asyncio
from pathlib import Path

import pytest

from gossamer.broker.broker import Broker
from gossamer.broker.settings import Settings
from gossamer.budget.division import ARCHIVE, MEMORY_SHARE, MIB, PARTS, divided
from gossamer.budget.ledger import Ledger
from gossamer.net.admin import views
from gossamer.net.budgets import BUDGET_KEYS, Memory, budgets_of, machine_memory, memory_in
from gossamer.net.config import Config, parse
from gossamer.net.config.limits import Limits
from gossamer.net.resolved_config import settings_of
from gossamer.session.journal import Journal

GIB = 1024 * MIB
MACHINES = [256 * MIB, 512 * MIB, 1 * GIB, 4 * GIB, 16 * GIB, 64 * GIB, 1024 * GIB]
# What a gateway and a site send, as the ledger counts it.
FILTER = 700
RETAINED = 1_200


def budgets(limits: Limits, size: int) -> dict[str, int]:
    return budgets_of(limits, Memory(size, "a test")).sizes


@pytest.mark.parametrize("size", MACHINES)
def test_all_budgets_together_are_at_most_their_share_of_the_memory(size: int) -> None:
    found = budgets_of(Limits(), Memory(size, "a test"))
    assert found.together <= MEMORY_SHARE * size
    assert found.together >= MEMORY_SHARE * size * 0.8 or size > 64 * GIB  # and not for nothing
    assert all(one >= 1 * MIB for one in found.sizes.values())
    assert found.sizes["packets"] >= 4 * Limits().packet_size
    assert found.warnings() == []


def test_every_budget_that_is_told_is_one_of_them() -> None:
    """What `ctl memory` shows as budgets is what was divided, and no table has one beside."""
    settings = settings_of(Config(), Limits(memory=512 * MIB))
    core = Broker(settings, Journal(), 0.0).core
    told = asyncio.run(views.memory(core, {}))
    shown = {one["table"]: one["budget"] for one in told["entries"] if one["budget"]}
    assert shown == settings.budgets
    assert told["budgets"] == sum(shown.values()) <= MEMORY_SHARE * 512 * MIB
    assert told["memory"] == 512 * MIB
    assert told["memory_source"] == "limits.memory"


def test_parts_are_all_there_is() -> None:
    assert sum(part for _, part, _ in PARTS) == 1000
    assert {name for name, _, _ in PARTS} == {*Ledger().accounts, ARCHIVE} == set(BUDGET_KEYS)


def test_a_gateway_and_a_site_fit_into_8_gib() -> None:
    found = budgets(Limits(), 8 * GIB)
    assert found["subscriptions"] * Limits().address_share >= 1_000_000 * FILTER
    assert found["retained"] * Limits().client_share >= 300_000 * RETAINED


@pytest.mark.parametrize("size", MACHINES)
@pytest.mark.parametrize("key", ["retained_bytes", "packet_bytes", "geo_bytes"])
def test_a_key_that_is_set_wins_and_the_others_make_room(size: int, key: str) -> None:
    chosen = int(MEMORY_SHARE * size) // 2
    limits = Limits.validated({key: chosen})
    found = budgets(limits, size)
    name = next(name for name, known in BUDGET_KEYS.items() if known == key)
    assert found[name] == chosen
    assert sum(found.values()) <= MEMORY_SHARE * size
    usual = budgets(Limits(), size)
    assert all(found[other] <= usual[other] for other in found if other != name)


def test_a_small_budget_does_not_make_others_larger() -> None:
    usual, found = budgets(Limits(), GIB), budgets(Limits(retained_bytes=64 << 10), GIB)
    assert {**usual, "retained": 64 << 10} == found


def test_the_largest_packet_fits_four_times_and_counts() -> None:
    found = budgets(Limits(packet_size=20 << 20), 512 * MIB)
    assert found["packets"] == 80 * MIB
    assert sum(found.values()) <= MEMORY_SHARE * 512 * MIB


def test_budgets_past_the_share_and_past_the_machine_are_warned_of() -> None:
    much = budgets_of(Limits(retained_bytes=900 * MIB), Memory(1 * GIB, "this machine"))
    assert much.sizes["retained"] == 900 * MIB
    [warning] = much.warnings()
    assert "memory_share" in warning
    [warning] = budgets_of(Limits(retained_bytes=2 * GIB), Memory(GIB, "this machine")).warnings()
    assert "more than there is" in warning
    assert "this machine" in warning


def test_memory_and_its_share_can_be_told() -> None:
    found = budgets_of(Limits(memory=100 * MIB, memory_share=0.5))
    assert found.together <= 50 * MIB
    assert found.memory.source == "limits.memory"
    assert parse('[limits]\nmemory = "2 GiB"\n').limits.memory == 2 * GIB


def test_a_core_without_a_shell_divides_an_assumed_memory() -> None:
    assert Settings().budgets == divided(Settings().memory)


GROUP = "proc/self/cgroup"
# Files of a system, the memory that the machine has, and what is found.
SYSTEMS: dict[str, tuple[dict[str, str], int, int]] = {
    "no groups": ({}, 4 * GIB, 4 * GIB),
    "version 2": (
        {GROUP: "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "536870912\n"},
        GIB,
        512 * MIB,
    ),
    "version 2, a group around it": (
        {
            GROUP: "0::/a/b\n",
            "sys/fs/cgroup/a/b/memory.max": "max\n",
            "sys/fs/cgroup/a/memory.max": "1000000\n",
        },
        GIB,
        1_000_000,
    ),
    "version 2, in a container": (
        {GROUP: "0::/\n", "sys/fs/cgroup/memory.max": "2000\n"},
        GIB,
        2000,
    ),
    "version 2, from another namespace": (
        {GROUP: "0::/../../x\n", "sys/fs/cgroup/memory.max": "2000\n"},
        GIB,
        2000,
    ),
    "version 2, high before max": (
        {
            GROUP: "0::/a\n",
            "sys/fs/cgroup/a/memory.max": "9000\n",
            "sys/fs/cgroup/a/memory.high": "8000\n",
        },
        GIB,
        8000,
    ),
    "version 2, more than the machine has": (
        {GROUP: "0::/\n", "sys/fs/cgroup/memory.max": f"{8 * GIB}\n"},
        GIB,
        GIB,
    ),
    "version 1": (
        {
            GROUP: "5:cpu,cpuacct:/d\n4:memory:/d/e\n0::/\n",
            "sys/fs/cgroup/memory/d/e/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/fs/cgroup/memory/d/memory.limit_in_bytes": "70000000\n",
        },
        GIB,
        70_000_000,
    ),
    "version 1, in a container": (
        {
            GROUP: "4:memory:/docker/0123\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "70000000\n",
        },
        GIB,
        70_000_000,
    ),
    "nonsense": ({GROUP: "x\n:::\n0::/\n", "sys/fs/cgroup/memory.max": "lots\n"}, GIB, GIB),
    "nothing is known": ({}, 0, 512 * MIB),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_smaller_of_machine_and_control_group(name: str, tmp_path: Path) -> None:
    files, installed, expected = SYSTEMS[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = memory_in(tmp_path, installed)
    assert found.size == expected
    if expected == installed:
        assert found.source == "the memory of this machine"
    elif installed:
        assert found.source == "the limit of its control group"


def test_this_machine_has_memory() -> None:
    assert 16 * MIB < machine_memory().size < 1 << 50
