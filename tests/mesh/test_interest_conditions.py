"""Rules and areas are told to neighbours, and judged where messages enter."""

import math
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer.broker.conditions import (
    MOST_JUDGED,
    ConditionalSubscription,
    judgements_for,
    restored_subscription,
)
from gossamer.broker.policy import Permissions
from gossamer.mesh.control_messages import (
    ADD,
    MOST_CONDITIONS,
    batches,
    control_packet,
    encode_interests,
)
from gossamer.mesh.interest.merging import MOST_TOLD
from gossamer.mesh.link import peer_record
from gossamer.mesh.settings import CAPABILITIES, CONDITIONS
from gossamer.plus.encodings import Encodings
from gossamer.session.identity import Identity
from gossamer.wire.packets import PUBREL, Acknowledgement, Publish, Request, Subscribe
from tests.support.durable_meshes import DurableNet
from tests.support.memory import properties
from tests.support.meshes import Net

PISA = ("gpl_current_pos", "43.72;10.40")
OSLO = ("gpl_current_pos", "59.91;10.75")
ROUND_PISA = ("gpl_circleStatic", "1;km;1;43.72;10.40;5")
ROUND_ME = ("gpl_circleDynamic", "2;km;1;5")


def line(*names: str, mode: str = "ssf", **options: object) -> Net:
    net = Net(mode)
    for name in names:
        net.node(name, **options)
    for one, other in pairwise(names):
        net.join(one, other)
    return net


def held(net: Net, name: str, of: str) -> list[str]:
    """What `name` knows that `of` wants."""
    return sorted(net.nodes[name].mesh.by_name[of].session.subscriptions)


def crossed(net: Net, sender: str, receiver: str) -> int:
    """Publications that were sent from one to the other."""
    return net.nodes[sender].mesh.by_name[receiver].traffic().messages_sent


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_rule_is_judged_where_values_enter(qos: int) -> None:
    net = line("a", "b", "c")
    reader = net.nodes["c"].client("reader")
    reader.subscribe("$GT;30/t/+", qos=qos)
    net.run()
    assert held(net, "a", "b") == ["t/+\0p$GT;30"]
    writer = net.nodes["a"].client("writer")
    for value in ("10", "31", "30", "warm", "40"):
        writer.publish("t/1", value, qos)
    net.run()
    assert reader.payloads() == ["31", "40"]
    assert crossed(net, "a", "b") == crossed(net, "b", "c") == 2


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_an_area_is_judged_where_places_enter(qos: int) -> None:
    net = line("a", "b", "c")
    reader = net.nodes["c"].client("reader")
    reader.subscribe("t/+", qos=qos, user=[ROUND_PISA])
    net.run()
    writer = net.nodes["a"].client("writer")
    writer.publish("t/1", "here", qos, user=[PISA])
    writer.publish("t/1", "there", qos, user=[OSLO])
    writer.publish("t/1", "anywhere", qos)
    net.run()
    assert reader.payloads() == ["here", "anywhere"]
    assert crossed(net, "a", "b") == crossed(net, "b", "c") == 2


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_runs_are_judged_one_by_one(qos: int) -> None:
    net = line("a", "b", "c", "d")
    reader = net.nodes["d"].client("reader")
    reader.subscribe("$GT;30/t/+", qos=qos)
    raw = net.nodes["b"].client("raw")
    raw.subscribe("t/+", qos=qos)
    net.run()
    writer = net.nodes["a"].client("writer")
    payloads = [str(value) for value in range(10, 50)]
    packets = [
        Publish("t/1", payload.encode(), qos, False, False, number + 1 if qos else 0)
        for number, payload in enumerate(payloads)
    ]
    writer.send(*packets)
    if qos == 2:
        writer.send(*[Acknowledgement(PUBREL, packet.packet_id) for packet in packets])
    net.run()
    assert reader.payloads() == [str(value) for value in range(31, 50)]
    assert raw.payloads() == payloads
    assert crossed(net, "b", "c") == crossed(net, "c", "d") == 19


def test_one_copy_for_a_neighbour_that_wants_it_by_several_interests() -> None:
    net = line("a", "b")
    readers = [net.nodes["b"].client(f"r{number}") for number in range(3)]
    readers[0].subscribe("$GT;30/t/+", "$LT;35/+/1", qos=1)
    readers[1].subscribe("$GT;10/t/#", qos=1)
    net.run()
    assert held(net, "a", "b") == ["+/1\0p$LT;35", "t/#\0p$GT;10"]
    writer = net.nodes["a"].client("writer")
    writer.publish("t/1", "32", 1)
    writer.publish("t/1", "5", 1)
    net.run()
    assert crossed(net, "a", "b") == 2
    readers[2].subscribe("t/1", qos=1)
    net.run()
    assert held(net, "a", "b") == ["+/1\0p$LT;35", "t/#\0p$GT;10", "t/1"]
    writer.publish("t/1", "32", 1)
    net.run()
    assert crossed(net, "a", "b") == 3
    assert readers[0].payloads() == ["32", "32", "5", "32", "32"]


def test_a_plain_filter_takes_the_place_of_conditions_and_gives_it_back() -> None:
    net = line("a", "b", "c")
    reader = net.nodes["c"].client("reader")
    reader.subscribe("$GT;30/t/+", "$LT;5/t/+", "$EQ;7/u")
    net.run()
    conditions = ["t/+\0p$GT;30", "t/+\0p$LT;5", "u\0p$EQ;7"]
    assert held(net, "a", "b") == conditions
    raw = net.nodes["c"].client("raw")
    raw.subscribe("#")
    net.run()
    assert held(net, "a", "b") == ["#"]
    raw.unsubscribe("#")
    net.run()
    assert held(net, "a", "b") == conditions
    reader.unsubscribe("$GT;30/t/+")
    net.run()
    assert held(net, "a", "b") == conditions[1:]


def test_a_neighbour_that_does_not_know_conditions_gets_filters() -> None:
    net = Net("ssf")
    net.node("a")
    net.node("old", capabilities=CAPABILITIES - {CONDITIONS})
    net.node("c")
    net.join("a", "old")
    net.join("old", "c")
    reader = net.nodes["c"].client("reader")
    reader.subscribe("$GT;30/t/+", qos=1)
    reader.subscribe("p/+", qos=1, user=[ROUND_PISA])
    net.run()
    assert held(net, "a", "old") == held(net, "old", "c") == ["p/+", "t/+"]
    writer = net.nodes["a"].client("writer")
    for value in ("10", "40"):
        writer.publish("t/1", value, 1)
    writer.publish("p/1", "there", 1, user=[OSLO])
    net.run()
    assert reader.payloads() == ["40"]
    # And once it does, it is told them.
    net.cut("old", "c")
    net.nodes["old"].mesh.settings.capabilities = CAPABILITIES
    net.join("old", "c")
    assert held(net, "old", "c") == [held(net, "old", "c")[0], "t/+\0p$GT;30"]
    writer.publish("t/1", "41", 1)
    writer.publish("t/1", "12", 1)
    net.run()
    assert reader.payloads() == ["41"]
    assert crossed(net, "old", "c") == 4  # three from before


@pytest.mark.parametrize("mode", ["pf", "sf", "bloom"])
def test_other_modes_are_as_they_were(mode: str) -> None:
    net = line("a", "b", mode=mode)
    reader = net.nodes["b"].client("reader")
    reader.subscribe("$GT;30/t/+", qos=1)
    net.run()
    assert held(net, "a", "b") == (["t/+"] if mode == "sf" else [])
    writer = net.nodes["a"].client("writer")
    writer.publish("t/1", "10", 1)
    writer.publish("t/1", "40", 1)
    net.run()
    assert reader.payloads() == ["40"]
    assert crossed(net, "a", "b") == 2


def test_a_bounded_number_of_conditions_is_told_for_one_filter() -> None:
    net = line("a", "b", "c")
    readers = []
    for number in range(100):
        reader = net.nodes["c"].client(f"r{number}")
        reader.subscribe(f"$GTE;{10 * number}$LT;{10 * number + 5}/t", qos=1)
        readers.append(reader)
    net.run()
    assert len(held(net, "a", "b")) <= MOST_TOLD
    told = net.nodes["b"].mesh.by_name["a"].advertiser.interests
    writer = net.nodes["a"].client("writer")
    for value in range(1_000):
        writer.publish("t", str(value), 1)
    net.run()
    for number, reader in enumerate(readers):
        assert reader.payloads() == [str(10 * number + each) for each in range(5)]
    assert crossed(net, "b", "c") < 1_000
    # What lies within what is told already tells nothing.
    late = net.nodes["c"].client("late")
    late.subscribe("$GTE;1$LT;3/t")
    net.run()
    assert net.nodes["b"].mesh.by_name["a"].advertiser.interests == told
    for reader in readers:
        reader.disconnect()
    net.run()
    assert held(net, "a", "b") == ["t\0p$GTE;1$LT;3"]


# Moving subscribers ------------------------------------------------------------------------------


def position(east: float) -> tuple[str, str]:
    """So many metres from Pisa."""
    return ("gpl_current_pos", f"43.72;{10.40 + east / 80_500}")


def told_to(net: Net, name: str, by: str) -> int:
    """Interests that came or went, so far."""
    return net.nodes[by].mesh.by_name[name].advertiser.interests


def test_most_moves_tell_nothing_and_none_loses_a_message() -> None:
    net = line("a", "b", "c")
    walker = net.nodes["c"].client("walker")
    walker.publish("position", user=[position(0.0)])
    walker.subscribe("t", qos=1, user=[("gpl_circleDynamic", "1;m;1;1000")])
    net.run()
    writer = net.nodes["a"].client("writer")
    before = told_to(net, "b", "c")
    steps = 300
    for step in range(1, steps + 1):
        for node in net.nodes.values():
            node.now += 1.0
        walker.publish("position", user=[position(1.4 * step)])
        net.run()
        writer.publish("t", f"{step} in", 1, user=[position(1.4 * step + 995.0)])
        writer.publish("t", f"{step} out", 1, user=[position(1.4 * step + 1_100.0)])
        net.run()
        assert walker.payloads() == [f"{step} in"]
    # One is new and one is gone each time.
    assert told_to(net, "b", "c") - before <= 2 * steps / 10
    # What is farther away than the margin crosses no link.
    assert crossed(net, "a", "b") == crossed(net, "b", "c") == steps


def test_little_crosses_that_is_outside_of_an_area_that_moves() -> None:
    net = line("a", "b")
    walker = net.nodes["b"].client("walker")
    walker.publish("position", user=[position(0.0)])
    walker.subscribe("t", qos=1, user=[("gpl_circleDynamic", "1;m;1;1000")])
    writer = net.nodes["a"].client("writer")
    received = 0
    for step in range(1, 2_001):
        for node in net.nodes.values():
            node.now += 1.0
        walker.publish("position", user=[position(1.4 * step)])
        net.run()
        # Evenly over a disc around the walker that is twice as wide as its area.
        distance = 2_000.0 * math.sqrt(step * 0.754877666 % 1.0)
        east, north = distance * math.cos(step * 2.4), distance * math.sin(step * 2.4)
        where = f"{43.72 + north / 111_100};{10.40 + (1.4 * step + east) / 80_500}"
        writer.publish("t", str(step), 1, user=[("gpl_current_pos", where)])
        net.run()
        received += len(walker.payloads())
    assert 450 < received < 550
    needless = net.nodes["b"].broker.core.counters.needless
    assert crossed(net, "a", "b") == received + needless
    assert needless <= received / 10


def test_a_fast_client_is_told_about_once_a_second() -> None:
    net = line("a", "b")
    driver = net.nodes["b"].client("driver")
    driver.publish("position", user=[position(0.0)])
    driver.subscribe("t", qos=1, user=[("gpl_circleDynamic", "1;m;1;50")])
    net.run()
    writer = net.nodes["a"].client("writer")
    before = told_to(net, "a", "b")
    for step in range(1, 301):
        for node in net.nodes.values():
            node.now += 0.1
        driver.publish("position", user=[position(4.0 * step)])
        net.run()
        writer.publish("t", str(step), 1, user=[position(4.0 * step + 49.0)])
        net.run()
        assert driver.payloads() == [str(step)]
    # One is new and one is gone each time; its speed has to be learnt first.
    assert told_to(net, "a", "b") - before <= 2 * 36
    # It parks, and is told more narrowly.
    wide = held(net, "a", "b")
    for _ in range(3):
        for node in net.nodes.values():
            node.now += 61.0
        driver.publish("position", user=[position(1_200.0)])
        net.run()
    assert held(net, "a", "b") != wide
    writer.publish("t", "far", 1, user=[position(1_260.0)])
    net.run()
    assert crossed(net, "a", "b") == 300


def test_a_jump_to_the_other_side_of_the_earth_loses_nothing() -> None:
    net = line("a", "b")
    ship = net.nodes["b"].client("ship")
    ship.subscribe("t", qos=1, user=[("gpl_rectangleDynamic", "1;km;1;2;2")])
    net.run()
    writer = net.nodes["a"].client("writer")
    for place in ("43.72;10.40", "-43.72;-169.60", "89.9999;0", "0.001;179.9999", "0;-179.9999"):
        here = ("gpl_current_pos", place)
        ship.publish("position", user=[here])
        net.run()
        writer.publish("t", place, 1, user=[here])
        writer.publish("t", "elsewhere", 1, user=[("gpl_current_pos", "12.0;77.0")])
        net.run()
        assert ship.payloads() == [place]
    ship.unsubscribe("t")
    net.run()
    assert held(net, "a", "b") == []


def test_areas_that_change_are_told_anew() -> None:
    net = line("a", "b")
    reader = net.nodes["b"].client("reader")
    reader.subscribe("t", qos=1, user=[ROUND_PISA])
    net.run()
    first = held(net, "a", "b")
    reader.subscribe("t", qos=1, user=[("gpl_circleStatic", "1;km;1;59.91;10.75;5")])
    net.run()
    second = held(net, "a", "b")
    assert len(first) == len(second) == 1
    assert first != second
    writer = net.nodes["a"].client("writer")
    writer.publish("t", "there", 1, user=[OSLO])
    writer.publish("t", "here", 1, user=[PISA])
    net.run()
    assert reader.payloads() == ["there"]
    assert crossed(net, "a", "b") == 1
    reader.unsubscribe("t")
    net.run()
    reader.subscribe("t", qos=1)
    net.run()
    assert held(net, "a", "b") == ["t"]
    reader.subscribe("t", qos=1, user=[ROUND_PISA])
    net.run()
    assert held(net, "a", "b") == first


# What is told by its filter -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filter", "user"),
    [
        ("$AVG/t", []),
        ("$GT;3$AVG/t", []),
        ("$AVG$GT;30/t", []),
        ("$CHANGED;1$GT;30/t", []),
        ("t", [ROUND_PISA, ("gpl_events", "enter")]),
    ],
)
def test_what_depends_on_more_than_a_message_is_told_by_its_filter(
    filter: str, user: list[tuple[str, str]]
) -> None:
    net = line("a", "b")
    reader = net.nodes["b"].client("reader")
    assert reader.subscribe(filter, user=user) == [0]
    net.run()
    assert held(net, "a", "b") == ["t"]


@pytest.mark.parametrize(("read", "told"), [("c/#", "c/t"), ("#", "c/t"), ("d/#", "c/t\0p$GT;30")])
def test_rules_on_payloads_that_others_may_not_know_how_to_read(read: str, told: str) -> None:
    net = line("a", "b")
    node = net.nodes["b"]
    node.broker.core.operators.engine.services.encodings = Encodings({read: "cbor"})
    node.client("reader").subscribe("$GT;30/c/t")
    net.run()
    assert held(net, "a", "b") == [told]


class Guarding(Permissions):
    """Nobody sees where another is."""

    def __init__(self) -> None:
        super().__init__()
        self.guards_positions = True

    def may_locate(self, client: Identity, user: str) -> bool:
        return False


def test_who_may_not_see_places_gets_messages_wherever_they_are() -> None:
    net = line("a", "b")
    reader = net.nodes["b"].client("reader")
    reader.subscribe("t", qos=1, user=[ROUND_PISA])
    net.run()
    writer = net.nodes["a"].client("writer")

    def received() -> list[str]:
        writer.publish("t", "there", 1, user=[OSLO])
        net.run()
        return reader.payloads()

    told = held(net, "a", "b")
    assert received() == []
    broker = net.nodes["b"].broker
    broker.set_permissions(Guarding(), net.nodes["b"].now)
    go_on(net)
    assert held(net, "a", "b") == ["t"]
    assert received() == ["there"]
    broker.set_permissions(Permissions(), net.nodes["b"].now)
    go_on(net)
    assert held(net, "a", "b") == told
    assert received() == []


def go_on(net: Net) -> None:
    """Chores are done."""
    for node in net.nodes.values():
        core = node.broker.core
        while len(core.chores):
            core.chores.step(core, node.now)
    net.run()


def test_conditions_can_be_switched_off() -> None:
    net = line("a", "b")
    net.nodes["b"].mesh.settings.conditions = False
    net.node("c")
    net.nodes["c"].mesh.settings.conditions = False
    net.join("b", "c")
    reader = net.nodes["c"].client("reader")
    reader.subscribe("$GT;30/t", qos=1)
    net.run()
    assert held(net, "b", "c") == ["t"]


# Faults -------------------------------------------------------------------------------------------


def test_conditions_are_there_after_a_crash(tmp_path: Path) -> None:
    net = DurableNet(tmp_path)
    try:
        for name in "abc":
            net.node(name)
        net.join("a", "b")
        net.join("b", "c")
        reader = net.nodes["c"].visitor()
        reader.connect("reader", clean=False, expiry=1_000_000)
        reader.send(
            Subscribe(1, [Request("$GT;30/t", 1)], None),
            Subscribe(2, [Request("p", 1)], properties(user=[ROUND_PISA])),
        )
        net.run()
        told = held(net, "b", "c")
        assert len(told) == 2
        for name in "bac":
            net.crash(name)
            assert held(net, "a", "b") == held(net, "b", "c") == told
            writer = net.nodes["a"].client("writer")
            for value in ("10", "40"):
                writer.publish("t", value, 1)
            writer.publish("p", "there", 1, user=[OSLO])
            writer.publish("p", "here", 1, user=[PISA])
            net.run()
            writer.disconnect()
        reader = net.nodes["c"].visitor()
        reader.connect("reader", clean=False, expiry=1_000_000)
        net.run()
        assert sorted(set(reader.payloads())) == ["40", "here"]
        assert net.nodes["c"].broker.core.counters.needless == 0
    finally:
        net.close()


def test_a_condition_that_a_later_version_stored_lets_everything_through() -> None:
    net = line("a", "b")
    core = net.nodes["a"].broker.core
    session = net.nodes["a"].mesh.by_name["b"].session
    record = peer_record("t\0zof a later version")
    subscription = restored_subscription(core, session, record)
    assert subscription.condition is None
    assert subscription.filter == "t"


CIRCLE = "cgpl_circleStatic=0;m;1;43.72;10.4;5000.0"


@pytest.mark.parametrize(
    "interest",
    [
        "t\0zof no kind",
        "t\0p$NONE;3",
        "t\0p$GT;warm",
        "t\0p$AVG",
        "t\0p" + "$GT;1" * 17,
        "t\0p$CONTAINS;" + "x" * 3_000,
        "t\0p$GT;3\0p$GT;4",
        f"t\0{CIRCLE}\0{CIRCLE}",
        "t\0cgpl_circleStatic=0;m;1;91.0;10.4;5000.0",
        "t\0cgpl_circleDynamic=0;m;1;5000.0",
        "t\0c" + "\n".join([CIRCLE[1:]] * 300),
        "a/#/b\0p$GT;3",
        "\0p$GT;3",
    ],
)
def test_a_malformed_condition_ends_its_own_link_only(interest: str) -> None:
    net = line("evil", "b", "c")
    packet = control_packet(ADD, encode_interests([interest]))
    net.nodes["evil"].mesh.by_name["b"].send([packet])
    net.run()
    assert net.nodes["b"].mesh.by_name["evil"].connection is None
    assert net.nodes["b"].mesh.by_name["c"].connection is not None


def test_a_neighbour_that_tells_more_than_any_would_is_cut_off() -> None:
    net = line("evil", "b")
    interests = [f"t\0p$EQ;{number}" for number in range(600)]
    net.nodes["evil"].mesh.by_name["b"].send([control_packet(ADD, encode_interests(interests))])
    net.run()
    assert net.nodes["b"].mesh.by_name["evil"].connection is None


def test_conditions_are_told_in_portions_and_no_more_is_taken_at_once() -> None:
    interests = [f"t{number}\0p$CONTAINS;{'x' * 1_000}" for number in range(40)]
    portions = batches(interests)
    assert [each for portion in portions for each in portion] == interests
    assert all(len(encode_interests(portion)) < MOST_CONDITIONS // 2 for portion in portions)
    net = line("evil", "b")
    net.nodes["evil"].mesh.by_name["b"].send([control_packet(ADD, encode_interests(interests))])
    net.run()
    assert net.nodes["b"].mesh.by_name["evil"].connection is None


def test_more_conditions_than_are_judged_get_everything() -> None:
    net = line("evil", "b")
    interests = [f"t\0p$EQ;{number}" for number in range(MOST_JUDGED + 1)]
    link = net.nodes["evil"].mesh.by_name["b"]
    link.send([control_packet(ADD, encode_interests(interests))])
    net.run()
    net.nodes["b"].client("writer").publish("t", "warm", 1)
    net.run()
    core = net.nodes["b"].broker.core
    assert judgements_for(core, net.nodes["b"].mesh.by_name["evil"].session).unjudged == 1
    assert crossed(net, "b", "evil") == 1


def test_past_the_budget_filters_are_kept_without_their_conditions() -> None:
    net = line("a", "b")
    account = net.nodes["a"].broker.core.ledger.mesh
    account.budget = account.held + 4_000
    reader = net.nodes["b"].client("reader")
    reader.subscribe("$EQ;1/t", "$EQ;2/u", "$EQ;3/v", "$EQ;4/w", qos=1)
    net.run()
    subscriptions = net.nodes["a"].mesh.by_name["b"].session.subscriptions.values()
    kept = [
        one.condition is not None
        for one in subscriptions
        if isinstance(one, ConditionalSubscription)
    ]
    assert kept.count(True) in (1, 2, 3)
    writer = net.nodes["a"].client("writer")
    for topic in "tuvw":
        writer.publish(topic, "4", 1)
    net.run()
    assert reader.payloads() == ["4"]
    before = account.held
    reader.disconnect()
    net.run()
    assert held(net, "a", "b") == []
    assert account.held < before


# Seven brokers ------------------------------------------------------------------------------------


def test_seven_brokers_carry_what_somebody_wants_and_nothing_else() -> None:
    net = Net("ssf")
    names = "abcdefg"
    for name in names:
        net.node(name)
    for number in range(1, 7):
        net.join(names[number], names[(number - 1) // 2])
    readers = {name: net.nodes[name].client(f"r{name}") for name in "defg"}
    for low, (name, reader) in enumerate(readers.items()):
        reader.subscribe(f"$GTE;{10 * low}/+/temp", qos=low % 3)
        reader.subscribe(f"place/{name}", qos=1, user=[ROUND_PISA])
    net.run()
    writers = {name: net.nodes[name].client(f"w{name}") for name in names}
    expected: dict[str, list[str]] = {name: [] for name in readers}
    for step in range(70):
        name = names[step % 7]
        value = step * 13 % 45
        writers[name].publish("room/temp", str(value), step % 3)
        writers[name].publish(
            f"place/{'defg'[step % 4]}", f"p{step}", 1, user=[(PISA, OSLO)[step % 2]]
        )
        for low, where in enumerate(readers):
            if value >= 10 * low:
                expected[where].append(str(value))
        if step % 2 == 0:
            expected["defg"[step % 4]].append(f"p{step}")
        net.run()
    for name, reader in readers.items():
        assert reader.payloads() == expected[name]
    assert all(node.broker.core.counters.needless == 0 for node in net.nodes.values())
    assert any(
        judgements_for(node.broker.core, link.session).rejected
        for node in net.nodes.values()
        for link in node.mesh.by_name.values()
    )
