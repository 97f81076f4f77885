"""What holds how much memory is told by the admin API, the metrics, `$SYS` and `gossamer ctl`."""

import asyncio
import json

from prometheus_client.parser import text_string_to_metric_families

from gossamer.archive.collector import Collector
from gossamer.broker.core import Core
from gossamer.broker.memory_report import AT_ONCE, holdings
from gossamer.broker.sys_topics import statistics
from gossamer.budget.division import PARTS
from gossamer.net.admin import views
from gossamer.net.admin.metrics import exposition
from gossamer.net.config import Config
from gossamer.net.config.limits import Limits
from gossamer.net.resolved_config import settings_of
from tests.support.attacks import MIB, Target

CLIENTS = {"queues", "inflight", "input", "output"}


def filled() -> Target:
    target = Target()
    greedy = target.stranger("greedy")
    for number in range(30):
        greedy.publish(f"t/{number}", "x" * 50_000, retain=True)
    return target


def test_every_table_is_named_with_its_bytes_its_budget_and_its_largest_holder() -> None:
    core = filled().broker.core
    shown = {one["table"]: one for one in asyncio.run(views.memory(core, {}))["entries"]}
    assert set(shown) == {name for name, _, _ in PARTS} | CLIENTS
    retained = shown["retained"]
    assert retained["largest_client"] == "greedy"
    assert retained["budget"] == 2 * MIB
    assert retained["largest_bytes"] <= retained["bytes"] <= 2 * MIB
    assert retained["refused"] > 0
    assert shown["queues"]["budget"] is None
    assert json.dumps(shown)


def test_queues_and_output_are_added_up() -> None:
    target = Target()
    away = target.stranger("away", expiry=1000, clean=False)
    away.subscribe("t", qos=1)
    away.lose()
    target.writer.publish("t", "x" * 10_000, qos=1)
    shown = {one.name: one for one in holdings(target.broker.core)}
    assert shown["queues"].held >= 10_000
    assert shown["queues"].largest == "away"


def test_the_metric_and_the_topics_say_the_same() -> None:
    core = filled().broker.core
    held = core.ledger.retained.held
    samples = {
        sample.name: sample.value
        for family in text_string_to_metric_families(exposition(core).decode())
        for sample in family.samples
        if sample.labels == {"table": "retained"}
    }
    assert samples["gossamer_memory_bytes"] == held
    assert samples["gossamer_memory_budget_bytes"] == 2 * MIB
    assert samples["gossamer_memory_refused_total"] > 0
    assert samples["gossamer_memory_evicted_total"] == 0
    told = statistics(core, 0.0)
    assert told["memory/retained"] == str(held)
    assert int(told["refused/memory"]) > 0


def memory_samples(core: Core) -> dict[str, dict[str, float]]:
    """Of each table, by the metric's name."""
    found: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(exposition(core).decode()):
        for sample in family.samples:
            if sample.name.startswith("gossamer_memory_"):
                found.setdefault(sample.labels["table"], {})[sample.name] = sample.value
    return found


def test_all_tell_the_same_list() -> None:
    target = filled()
    core = target.broker.core
    away = target.stranger("away", expiry=1000, clean=False)
    away.subscribe("t", qos=1)
    away.lose()
    target.writer.publish("t", "x" * 10_000, qos=1)
    archive = Collector()
    target.broker.begin_archiving(archive, [])
    archive.append(b"t", b"x" * 5_000, 1, "", "", 0.0)
    metrics = memory_samples(core)
    topics = statistics(core, 0.0)
    entries = asyncio.run(views.memory(core, {}))["entries"]
    assert set(metrics) == {one["table"] for one in entries}
    assert {f"memory/{name}" for name in metrics} == {
        name for name in topics if name.startswith("memory/")
    }
    for one in entries:
        told = metrics[one["table"]]
        assert (
            told["gossamer_memory_bytes"] == one["bytes"] == int(topics[f"memory/{one['table']}"])
        )
        assert told["gossamer_memory_budget_bytes"] == (one["budget"] or 0)
        assert told["gossamer_memory_client_budget_bytes"] == (one["client_budget"] or 0)
        assert told["gossamer_memory_refused_total"] == one["refused"]
    assert metrics["queues"]["gossamer_memory_bytes"] >= 10_000
    assert metrics["archive"]["gossamer_memory_bytes"] == 5_000
    archive.take()
    assert memory_samples(core)["archive"]["gossamer_memory_bytes"] == 0


def test_what_many_sessions_hold_is_added_up_a_part_at_a_time() -> None:
    target = Target()
    core = target.broker.core
    for number in range(AT_ONCE + 500):
        away = target.stranger(f"away-{number}", f"198.51.100.{number}", expiry=9000, clean=False)
        if number % 500 == 0:
            away.subscribe("t", qos=1)
        away.lose()
    target.writer.publish("t", "x" * 10_000, qos=1)
    exact = sum(session.queue_bytes for session in core.sessions.values())
    assert exact >= 50_000
    assert core.usage.sums().queues.held != exact  # nothing is walked because somebody asks
    for _ in range(100):
        target.wait(1.0)
    assert core.usage.sums().queues.held == exact
    for number in range(AT_ONCE + 500):
        target.broker.disconnect(f"away-{number}", target.now, True)
    assert core.usage.sums().queues.held == 0


def test_a_budget_that_is_set_is_in_force() -> None:
    settings = settings_of(Config(), Limits(retained_bytes=1 << 20, client_share=0.5))
    assert settings.budgets["retained"] == 1 << 20
    assert settings.client_share == 0.5


def test_a_reload_changes_budgets_in_force() -> None:
    target = filled()
    core = target.broker.core
    held = core.ledger.retained.held
    settings = settings_of(Config(), Limits(retained_bytes=64 << 10))
    target.broker.set_settings(settings)
    assert core.ledger.retained.budget == 64 << 10
    assert core.ledger.retained.held == held  # what was promised stays
    target.writer.publish("new", "x" * 10_000, 1, retain=True)
    assert core.ledger.retained.held == held
    assert core.ledger.retained.refused > 0
