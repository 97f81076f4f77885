"""Rules where the core asks them: wills, retained messages, replay, shared and denied parts."""

from typing import Any

from gossamer.net.rule_file import RulePermissions, parse_rules
from gossamer.wire import reasons
from gossamer.wire.packets import V311, Will
from gossamer.wire.properties import Properties
from tests.support.memory import World

ALL = "[[rule]]\npublish = ['#']\nsubscribe = ['#', '$SYS/#']\n"
DENIED = ALL + "[[rule]]\nclients = ['reader']\ndeny_subscribe = ['secret/#']"


def world_with(text: str, **settings: Any) -> World:
    world = World(**settings)
    rule(world, text)
    return world


def rule(world: World, text: str) -> None:
    world.broker.set_permissions(RulePermissions(parse_rules(text)), world.now)


def test_the_denied_part_of_a_wide_subscription_is_not_delivered() -> None:
    world = world_with(DENIED)
    reader, other, writer = world.client("reader"), world.client("other"), world.client("writer")
    assert reader.subscribe("#", qos=1) == [1]
    assert other.subscribe("#", qos=1) == [1]
    for number, topic in enumerate(("secret/1", "open/1", "secret/2")):
        writer.publish(topic, topic, qos=number % 2, packet_id=number + 1)
        writer.publish(topic, topic, retain=True)
    assert set(reader.payloads()) == {"open/1"}
    assert set(other.payloads()) == {"secret/1", "open/1", "secret/2"}
    again = world.client("reader")
    again.subscribe("+/#")
    assert again.payloads() == ["open/1"]


def test_subscriptions_are_judged_by_what_they_read() -> None:
    world = world_with("[[rule]]\nsubscribe = ['a/#']")
    client = world.client("c")
    refused = reasons.NOT_AUTHORIZED
    answers = client.subscribe("a/b", "$share/g/a/+", "$share/g/b", "$SYS/#", "#", "+/b")
    assert answers == [0, 0, refused, refused, refused, refused]
    old = world.client("old", V311)
    assert old.subscribe("b") == [reasons.UNSPECIFIED_ERROR]


def test_a_will_needs_the_right_at_login_and_when_it_is_published() -> None:
    world = world_with(ALL)
    reader = world.client("reader")
    reader.subscribe("w/#")
    later = Properties()
    later.will_delay = 5
    world.client("a", expiry=100, will=Will("w/a", b"a", properties=later)).lose()
    world.client("b", expiry=100, will=Will("w/b", b"b", properties=later)).lose()
    rule(world, "[[rule]]\nsubscribe = ['#']\npublish = ['w/b']")
    world.wait(6)
    assert reader.payloads() == ["b"]
    refused = world.visitor()
    refused.connect("c", will=Will("w/a", b"c"))
    assert refused.connack.reason == reasons.NOT_AUTHORIZED
    assert reader.payloads() == []


def test_what_was_queued_is_not_replayed_after_the_right_is_gone() -> None:
    world = world_with(ALL)
    away = world.client("away", clean=False, expiry=1000)
    away.subscribe("a/#", "b/#", qos=1)
    away.lose()
    writer = world.client("writer")
    for number in range(1, 4):
        writer.publish(f"a/{number}", f"a{number}", qos=1, packet_id=number)
        writer.publish(f"b/{number}", f"b{number}", qos=1, packet_id=number + 10)
    rule(world, "[[rule]]\npublish = ['#']\nsubscribe = ['b/#']")
    back = world.client("away", clean=False, expiry=1000)
    assert back.connack.session_present
    assert back.payloads() == ["b1", "b2", "b3"]
    writer.publish("a/4", qos=1)
    assert back.payloads() == []


def test_what_was_sent_but_not_acknowledged_is_not_sent_again_either() -> None:
    world = world_with(ALL)
    reader = world.client("reader", clean=False, expiry=1000)
    reader.subscribe("a", qos=1)
    world.client("writer").publish("a", "1", qos=1)
    assert len(reader.take()) == 1
    reader.lose()
    rule(world, "[[rule]]\npublish = ['#']")
    back = world.client("reader", clean=False, expiry=1000)
    assert back.payloads() == []


def test_publishing_without_the_right() -> None:
    world = world_with("[[rule]]\nsubscribe = ['#']\n[[rule]]\nclients = ['w']\npublish = ['ok']")
    reader, writer = world.client("reader"), world.client("w")
    reader.subscribe("#")
    writer.publish("no", qos=1)
    answer = writer.take()[0]
    assert answer.reason == reasons.NOT_AUTHORIZED  # type: ignore[attr-defined]
    writer.publish("no", qos=0)
    writer.publish("ok")
    assert [message.topic for message in reader.messages()] == ["ok"]


def test_publishing_rights_are_forgotten_at_a_reload() -> None:
    world = world_with(ALL)
    reader, writer = world.client("reader"), world.client("writer")
    reader.subscribe("#")
    for _ in range(3):
        writer.publish("t")
    rule(world, "[[rule]]\nsubscribe = ['#']")
    for _ in range(3):
        writer.publish("t")
    assert len(reader.messages()) == 3


def test_an_empty_rule_file_allows_nothing() -> None:
    world = world_with("")
    client = world.client("c")
    assert client.subscribe("#", "a") == [reasons.NOT_AUTHORIZED] * 2
    client.publish("a", qos=1)
    assert client.take()[0].reason == reasons.NOT_AUTHORIZED  # type: ignore[attr-defined]
