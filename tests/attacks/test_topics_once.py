"""Long topics, each used once: routes, grants and aliases end at their budgets, and leave."""

import pytest

from gossamer.broker.audience import RECEIVER_BYTES
from gossamer.net.rule_file import RulePermissions, parse_rules
from gossamer.wire import reasons
from gossamer.wire.packets import V5, V311, Connack, Disconnect, Publish
from tests.support.attacks import KIB, MIB, Target, growth

TOPICS = 400
# What the interpreter needs beside the table: the packet in hand, dictionaries that grow.
SLACK = 512 * KIB


def long_topic(number: int, size: int = 60_000) -> str:
    return f"{number}/" + "x" * size


@pytest.mark.parametrize("version", [V311, V5])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_topics_of_64_kib_published_once_each(version: int, qos: int) -> None:
    target = Target()
    with growth() as grown:
        attacker = target.stranger("attacker", version=version)
        for number in range(TOPICS):
            attacker.publish(long_topic(number), qos=qos, packet_id=number + 1)
        attacker.take()
        held = target.ledger
        assert held["routes"] <= target.budget
        assert held["grants"] <= target.budget
        assert grown.size <= held["routes"] + held["grants"] + SLACK
        assert target.serves_others()
        attacker.disconnect()
        del attacker
        assert target.ledger["grants"] == 0
        assert grown.size <= target.budget + SLACK
    assert target.broker.core.ledger.routes.evicted > 0


def test_first_levels_of_64_kib_are_forgotten_with_their_topics() -> None:
    target = Target()
    with growth() as grown:
        attacker = target.stranger("attacker")
        for number in range(TOPICS):
            attacker.publish("x" * 60_000 + f"{number}/t")
        assert target.ledger["routes"] <= target.budget
        attacker.disconnect()
        del attacker
        assert grown.size <= target.budget + SLACK


def test_letters_that_take_four_bytes_count_as_they_are_kept() -> None:
    target = Target()
    with growth() as grown:
        attacker = target.stranger("attacker")
        for number in range(100):
            attacker.publish(f"{number}/😀" + "x" * 60_000)
        attacker.disconnect()
        del attacker
        assert grown.size <= target.budget + SLACK


def test_a_route_that_was_let_go_still_hears_of_subscribers() -> None:
    target = Target(budget=64 * KIB)
    publisher = target.stranger("publisher")
    publisher.publish("kept/t")
    other = target.stranger("other")
    for number in range(200):
        other.publish(f"kept/{number}")
        other.publish(f"{number}/t")
    for number in range(3_000):  # few of them enter a full table
        other.publish(f"other/{number}")
    assert b"kept/t" not in target.broker.core.routes._routes
    reader = target.client("reader")
    reader.subscribe("kept/t", "+/t")
    for _ in range(3):
        publisher.publish("kept/t", "news")
    assert reader.payloads() == ["news"] * 3
    reader.unsubscribe("kept/t", "+/t")
    publisher.publish("kept/t", "more")
    assert reader.payloads() == []


def test_a_route_to_many_receivers_counts_them() -> None:
    target = Target(budget=256 * KIB, roomy=("sessions", "subscriptions"))
    readers = [target.client(f"r{number}") for number in range(50)]
    for reader in readers:
        reader.subscribe("many/#")
    for number in range(1000):  # no two topics have the same receivers
        target.reader.subscribe(f"many/{number}")
    attacker = target.stranger("attacker")
    with growth() as grown:
        for number in range(1000):
            attacker.publish(f"many/{number}", "x")
        assert target.ledger["routes"] <= target.budget
        assert len(readers[0].payloads()) == 1000
        # 51 receivers each: no more routes than their receivers alone leave room for.
        assert len(target.broker.core.routes) <= target.budget // (51 * RECEIVER_BYTES)
        for reader in readers:
            reader.take()
        target.reader.take()
        assert grown.size <= target.budget + SLACK


def test_topics_of_the_same_filters_have_their_receivers_in_common() -> None:
    target = Target(budget=256 * KIB)
    for number in range(50):
        target.client(f"r{number}").subscribe("many/#")
    attacker = target.stranger("attacker")
    for number in range(100):
        attacker.publish(f"many/{number}", "x")
    routes = target.broker.core.routes
    assert len(routes) >= 100
    assert len(routes.audiences) == 1
    assert target.ledger["routes"] < 100 * 640


RULES = """
[[rule]]
publish = ["#"]
subscribe = ["#"]
deny_subscribe = ["secret/#"]
[[rule]]
publish = ["own/%c/#"]
"""


def test_what_rules_remember_is_bounded() -> None:
    target = Target()
    target.broker.set_permissions(RulePermissions(parse_rules(RULES)), target.now)
    with growth() as grown:
        for number in range(60):
            attacker = target.stranger(f"{number}" + "c" * 30_000)
            for topic in range(20):
                attacker.publish(f"{number}/{topic}" + "x" * (1000 if topic % 2 else 60_000))
            attacker.disconnect()
        del attacker
        target.wait(60.0)
        assert target.ledger["grants"] <= target.budget
        assert grown.size <= target.ledger["routes"] + target.ledger["grants"] + SLACK
    assert target.serves_others()
    target.broker.set_permissions(RulePermissions(parse_rules(RULES)), target.now)
    assert target.serves_others()
    target.broker.set_permissions(RulePermissions(parse_rules("")), target.now)
    assert target.ledger["grants"] <= 64 * KIB


def test_a_grant_that_was_let_go_is_made_again() -> None:
    target = Target(budget=32 * KIB)
    target.broker.set_permissions(RulePermissions(parse_rules(RULES)), target.now)
    clients = [target.client(f"client-{number}") for number in range(30)]
    reader = target.client("reader")
    assert reader.subscribe("#", "secret/x") == [0, reasons.NOT_AUTHORIZED]
    for number, client in enumerate(clients):
        client.publish(f"own/client-{number}/t")
    assert target.broker.core.ledger.grants.evicted > 0
    for number, client in enumerate(clients):
        client.publish(f"own/client-{number}/t")
    assert len(reader.payloads()) == 60


def test_aliases_of_maximum_size() -> None:
    target = Target()
    with growth() as grown:
        attackers = [target.stranger(f"a{number}", f"192.0.2.{number}") for number in range(10)]
        ends: list[int] = []
        for attacker in attackers:
            for alias in range(1, 200):
                if attacker.is_closed:
                    break
                attacker.publish(f"{alias}/" + "x" * 60_000, topic_alias=alias)
            ends += [p.reason for p in attacker.take() if isinstance(p, Disconnect)]
        assert ends == [reasons.QUOTA_EXCEEDED] * 10
        assert target.ledger["aliases"] == 0  # theirs went with their connections
        del attacker, attackers
        assert grown.size <= target.ledger["routes"] + SLACK
    modest = target.stranger("modest")
    modest.publish("t", topic_alias=1)
    modest.publish("t", topic_alias=1)
    modest.publish("u", topic_alias=1)
    assert not modest.is_closed
    assert target.serves_others()


def test_one_clients_aliases_leave_room_for_others() -> None:
    target = Target()
    held: list[int] = []
    attackers = [target.stranger(f"a{number}", "192.0.2.7") for number in range(8)]
    for attacker in attackers:
        for alias in range(1, 8):
            attacker.publish(f"{alias}/" + "x" * 60_000, topic_alias=alias)
        held.append(target.ledger["aliases"])
    assert max(held) <= target.budget // 2  # the share of their address
    assert not attackers[0].is_closed
    assert attackers[7].is_closed
    other = target.stranger("other", "192.0.2.8")
    other.publish("x" * 60_000, topic_alias=1)
    assert not other.is_closed


def test_aliases_towards_a_client_end_at_its_share() -> None:
    target = Target()
    reader = target.stranger("reader", topic_alias_maximum=65_535)
    reader.subscribe("#")
    for number in range(100):
        target.writer.publish(long_topic(number))
    got = [p for p in reader.take() if isinstance(p, Publish)]
    assert len(got) == 100
    assert all(p.topic for p in got)
    assert 0 < target.ledger["aliases"] <= target.budget // 4
    target.writer.publish(long_topic(0), "again")
    [last] = [p for p in reader.take() if isinstance(p, Publish)]
    assert last.topic == ""
    assert last.properties is not None
    assert last.properties.topic_alias == 1
    reader.lose()
    assert target.ledger["aliases"] == 0


def test_a_broker_at_its_budgets_takes_new_clients() -> None:
    target = Target()
    attacker = target.stranger("attacker")
    for number in range(100):
        attacker.publish(long_topic(number), topic_alias=number + 1)
    newcomer = target.stranger("newcomer", "192.0.2.9")
    assert isinstance(newcomer.connack, Connack)
    assert newcomer.connack.reason == reasons.SUCCESS
    assert target.budget == 2 * MIB
