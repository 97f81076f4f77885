"""Retained messages that have expired are dropped though nobody asks for them, some at a time."""

import random

import pytest

from gossamer.broker.retained import Retained
from gossamer.session.counters import Counters
from gossamer.session.journal import Journal
from gossamer.session.message import Message
from tests.support.memory import World


def message(topic: str, expires_at: float, payload: bytes = b"x") -> Message:
    return Message(topic, payload, 0, True, None, expires_at, "", "")


def table() -> Retained:
    return Retained(Journal(), Counters())


def keep(retained: Retained, topic: str, expires_at: float, payload: bytes = b"x") -> None:
    found = message(topic, expires_at, payload)
    retained.keep(found, found)


def test_a_round_looks_at_so_many_at_a_time_and_at_none_without_an_end() -> None:
    retained = table()
    for number in range(1_000):
        keep(retained, f"for ever/{number}", 0.0)
    for number in range(250):
        keep(retained, f"short/{number}", 10.0 if number % 2 else 1_000.0)
    left = []
    is_done = False
    while not is_done:
        is_done = retained.sweep(20.0, 100)
        left.append(len(retained))
    assert len(left) == 3
    assert max(before - after for before, after in zip([1_250, *left], left, strict=False)) <= 100
    assert left[-1] == 1_125
    assert all(retained.has(f"short/{number}") for number in range(0, 250, 2))


def test_what_is_replaced_during_a_round_is_judged_as_it_is_now() -> None:
    retained = table()
    for number in range(10):
        keep(retained, f"t/{number}", 10.0)
    assert not retained.sweep(5.0, 4)
    keep(retained, "t/0", 0.0)
    keep(retained, "t/1", 1_000.0)
    keep(retained, "t/2", 0.0, b"")
    while not retained.sweep(20.0, 4):
        pass
    while not retained.sweep(20.0, 4):
        pass
    assert [retained.has(f"t/{number}") for number in range(10)] == [True, True] + [False] * 8


@pytest.mark.parametrize("seed", range(10))
def test_whatever_comes_and_goes_a_round_leaves_what_is_alive(seed: int) -> None:
    draw = random.Random(seed)
    retained = table()
    ends: dict[str, float] = {}
    now = 0.0
    for _ in range(2_000):
        now += draw.random()
        topic = f"t/{draw.randrange(200)}"
        if draw.random() < 0.2:
            keep(retained, topic, 0.0, b"")
            ends.pop(topic, None)
        else:
            ends[topic] = draw.choice((0.0, now + 50.0 * draw.random()))
            keep(retained, topic, ends[topic])
        if draw.random() < 0.1:
            retained.sweep(now, 20)
    for _ in range(2):
        while not retained.sweep(now, 20):
            pass
    alive = {topic for topic, end in ends.items() if not end or end > now}
    assert {topic for topic in ends if retained.has(topic)} == alive, seed
    assert retained.account.held >= 0
    for topic in alive:
        retained.discard(topic)
    assert retained.account.held == 0
    assert not retained._expiring


def test_the_broker_does_it_by_itself() -> None:
    world = World()
    writer = world.client("w")
    for number in range(3_000):
        writer.publish(f"t/{number}", "x", retain=True, message_expiry=30)
    writer.publish("stays", "x", retain=True)
    for _ in range(70):
        world.wait(1.0)
    assert world.broker.core.counters.retained == 2  # with what the broker says of itself
    assert world.broker.core.retained.has("stays")
