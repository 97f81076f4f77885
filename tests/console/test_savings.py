"""Before and after: the counters of the broker, and what the console makes of them."""

from concurrent.futures import ThreadPoolExecutor

from gossamer.console.broker_watch import BrokerWatch
from gossamer.console.savings import LinkSaving, link_savings, savings
from gossamer.console.settings import WatchedBroker
from tests.support.located import PISA, ROUND_OSLO, ROUND_PISA
from tests.support.memory import World

ADDRESS = WatchedBroker("127.0.0.1", 1, "a-token-for-the-tests", "mqtt://127.0.0.1:1")


def watch(readings: dict[str, float], in_mesh: bool) -> BrokerWatch:
    broker = BrokerWatch(1, ADDRESS, ThreadPoolExecutor(1))
    broker.readings = readings
    broker.mesh = {"name": "a", "entries": []} if in_mesh else None
    return broker


def test_the_mesh_is_compared_with_flooding() -> None:
    one = {
        "messages_received_total": 100.0,
        "link_messages_sent_total": 10.0,
        "link_bytes_sent_total": 600.0,
        "link_control_bytes_sent_total": 100.0,
        "link_rejected_bytes_total": 250.0,
    }
    other = {"messages_received_total": 10.0, "link_messages_received_total": 10.0}
    mesh, links, plus, places = savings([watch(one, True), watch(other, True), watch({}, True)])
    assert (mesh.before, mesh.after, mesh.part) == (10_000.0, 600.0, 0.94)
    assert (plus.before, plus.part) == (0.0, 0.0)
    assert savings([watch(one, False)])[0].before == 0.0
    assert places.after == 0.0
    assert (links.before, links.after) == (750.0, 500.0)


def test_links_are_listed_by_what_was_kept_off_them() -> None:
    one = watch({}, True)
    one.name = "a"
    judged = {"rejected_messages": 3, "rejected_bytes": 90}
    old = {"neighbour": "c", "messages_sent": 7}
    one.mesh = {"entries": [old, {"neighbour": "b", "messages_sent": 1, **judged}]}
    assert link_savings([one, watch({}, False)]) == [
        LinkSaving("a → b", 1, 3, 90),
        LinkSaving("a → c", 7, 0, 0),
    ]


def test_operators_count_what_they_read_and_send() -> None:
    world = World()
    for name in ("one", "two"):
        world.client(name).subscribe("$GT;30/+/temp")
    writer = world.client("writer")
    writer.publish("r/temp", "20")
    writer.publish("r/temp", "35")
    counters = world.broker.core.counters
    assert counters.operators_bytes_read == 2 * 2 * len("r/temp35")
    assert counters.operators_bytes_sent == 2 * len("$GT;30/r/temp35")


def test_located_subscriptions_count_what_is_of_their_place() -> None:
    world = World()
    world.client("here").subscribe("t", user=[ROUND_PISA])
    world.client("there").subscribe("t", user=[ROUND_OSLO])
    world.client("writer").publish("t", "hello", user=[PISA])
    counters = world.broker.core.counters
    assert counters.located_bytes_read == 2 * len("thello")
    assert counters.located_bytes_sent == len("thello")
