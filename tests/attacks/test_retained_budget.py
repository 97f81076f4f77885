"""Retained messages end at their budget, whoever leaves them and however: by PUBLISH or by will."""

from typing import Any

import pytest

from gossamer.wire import reasons
from gossamer.wire.packets import V5, V311, Acknowledgement, Will
from tests.support.attacks import KIB, MIB, Target, growth
from tests.support.memory import MemoryClient

SLACK = 512 * KIB


def extra(pairs: int) -> dict[str, Any]:
    return {"user": [(f"name-{n}", "value") for n in range(pairs)]} if pairs else {}


def answers(client: MemoryClient) -> list[int]:
    return [p.reason for p in client.take() if isinstance(p, Acknowledgement)]


# What one of many retained messages is made of: topic (with its number), payload, user properties;
# and how many of one client are more than its share.
SHAPES = {
    "large": ("t/{}", 60_000, 0, 200),
    "many": ("t/{}", 10, 0, 3_000),
    "long topics": ("{}" + "x" * 60_000, 10, 0, 200),
    "deep topics": ("{}" + "/x" * 199, 10, 0, 1_000),
    "user properties": ("t/{}", 10, 99, 400),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("qos", [0, 1])
def test_retained_large_and_many(shape: str, qos: int) -> None:
    template, size, pairs, count = SHAPES[shape]
    target = Target()
    own = target.ledger["retained"]  # the broker's
    with growth() as grown:
        reasons_seen: list[int] = []
        for client in range(6):
            attacker = target.stranger(f"attacker-{client}", f"192.0.2.{client}")
            more = extra(pairs)
            for number in range(count):
                topic = template.format(f"{client}-{number}")
                payload = "x" * size
                attacker.publish(topic, payload, qos, retain=True, packet_id=number + 1, **more)
            reasons_seen += answers(attacker)
            held = target.ledger["retained"]
            assert held <= target.budget
            assert held <= own + (client + 1) * target.budget // 4  # each has its share at most
        del attacker
        target.wait(60.0)
        # The routes and what is retained, and no more.
        assert grown.size <= target.ledger["retained"] + target.ledger["routes"] + SLACK
        assert target.ledger["retained"] >= target.budget * 3 // 4
    if qos:
        assert reasons.QUOTA_EXCEEDED in reasons_seen
    assert target.broker.core.ledger.retained.refused > 0
    assert target.broker.core.counters.publications_refused > 0
    assert target.serves_others()


def test_the_ledger_is_near_what_the_allocator_says() -> None:
    for template, size, pairs, _ in SHAPES.values():
        target = Target(budget=64 * MIB)
        attacker = target.stranger("attacker")
        more = extra(pairs)
        with growth() as grown:
            for number in range(100):
                topic = template.format(number)
                attacker.publish(topic, "x" * size, retain=True, **more)
            attacker.disconnect()
            held = target.ledger["retained"] + target.ledger["routes"]
            assert 0.9 * grown.size - 50 * KIB <= held <= 2.5 * grown.size + 50 * KIB, template


def test_what_is_removed_is_given_back_to_whoever_left_it() -> None:
    target = Target()
    before = target.ledger["retained"]
    first, second = target.stranger("first"), target.stranger("second")
    for number in range(30):
        first.publish(f"a/b{number}/c", "x" * 5_000, retain=True)
    for number in range(30):
        second.publish(f"a/b{number}/c", "y" * 5_000, retain=True)
        second.publish(f"a/b{number}/c/d", "y" * 5_000, retain=True)
    account = target.broker.core.ledger.retained
    assert account.clients.get("first") is None
    for number in range(30):
        first.publish(f"a/b{number}/c", "", retain=True)
        first.publish(f"a/b{number}/c/d", "", retain=True)
    assert account.clients.get("second") is None
    assert target.ledger["retained"] == before


def test_a_full_table_lets_everybody_replace_and_remove() -> None:
    target = Target(max_retained=10)
    attacker = target.stranger("attacker")
    for number in range(12):
        attacker.publish(f"t/{number}", "x", 1, retain=True, packet_id=number + 1)
    assert answers(attacker)[-2:] == [reasons.QUOTA_EXCEEDED] * 2
    attacker.publish("t/1", "y", 1, retain=True)
    attacker.publish("t/2", "", 1, retain=True)
    attacker.publish("new", "z", 1, retain=True)
    assert all(reason < 0x80 for reason in answers(attacker))


@pytest.mark.parametrize("version", [V311, V5])
def test_empty_retained_publications_to_new_topics_leave_nothing(version: int) -> None:
    target = Target()
    before = target.ledger
    with growth() as grown:
        attacker = target.stranger("attacker", version=version)
        for number in range(3_000):
            attacker.publish(f"new/{number}/" + "x" * 500, "", qos=number % 2, retain=True)
        attacker.disconnect()
        del attacker
        target.wait(60.0)
        assert target.ledger["retained"] == before["retained"]
        assert target.ledger["routes"] == before["routes"]
        assert grown.size <= 64 * KIB


def test_retained_wills_obey_the_limit() -> None:
    target = Target()
    watcher = target.client("watcher")
    watcher.subscribe("will/#")
    with growth() as grown:
        for number in range(100):
            attacker = target.stranger(
                f"attacker-{number}",
                f"192.0.2.{number}",
                will=Will(f"will/{number}", b"x" * 60_000, 0, True),
            )
            attacker.lose()
        del attacker
        target.wait(60.0)
        assert target.ledger["retained"] <= target.budget
        assert len(watcher.messages()) == 100  # all of them are delivered
        assert grown.size <= target.ledger["retained"] + SLACK
    late = target.client("late")
    late.subscribe("will/#")
    assert 0 < len(late.messages()) < 100
    assert target.broker.core.counters.publications_refused > 50


def test_retained_wills_obey_the_limit_on_their_number() -> None:
    target = Target(max_retained=5)
    for number in range(10):
        target.stranger(f"a{number}", will=Will(f"will/{number}", b"x", 0, True)).lose()
    assert len(target.broker.core.retained) <= 5


def test_what_is_delivered_does_not_stay_in_what_is_retained() -> None:
    target = Target(budget=64 * MIB)
    readers = [target.stranger(f"r{v}{q}", version=v) for v in (V311, V5) for q in (0, 1, 2)]
    for index, reader in enumerate(readers):
        reader.subscribe("t/#", qos=index % 3)
    attacker = target.stranger("attacker")
    with growth() as grown:
        for number in range(20):
            attacker.publish(
                f"t/{number}",
                "x" * 100_000,
                retain=True,
                qos=2,
                packet_id=number + 1,
                user=[("a", "b")],
            )
            for reader in readers:
                reader.messages()
        assert grown.size <= target.ledger["retained"] + target.ledger["routes"] + SLACK


def test_a_session_with_a_name_of_its_user_shares_the_users_part() -> None:
    target = Target()
    for number in range(8):
        attacker = target.stranger(f"id-{number}", f"192.0.2.{number}", user="mallory")
        for topic in range(20):
            attacker.publish(f"{number}/{topic}", "x" * 20_000, retain=True)
    held = target.broker.core.ledger.retained.users
    assert held["mallory"] <= target.budget // 2
    other = target.stranger("other", "192.0.2.99", user="ann")
    other.publish("mine", "x" * 20_000, qos=1, retain=True)
    assert all(reason < 0x80 for reason in answers(other))
