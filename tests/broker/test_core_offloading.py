"""Operators that are left to others: who is told, who may answer, and what subscribers get."""

import json
from typing import Any

import pytest

from gossamer.broker.broker import Broker
from gossamer.broker.offload import ANSWER, KEY_PROPERTY, TOPIC_PROPERTY, WANTED
from gossamer.broker.sys_topics import statistics
from gossamer.plus.engine import Engine
from gossamer.plus.offload import OffloadRule
from gossamer.session.journal import Journal
from gossamer.wire import reasons
from gossamer.wire.packets import Acknowledgement
from tests.support.memory import MemoryClient, World
from tests.support.plus import VOCABULARY

LINGER = 700.0  # seconds after which an operation without subscribers is surely forgotten
AVERAGE = "$DAILYAVG/+/temp"


@pytest.fixture
def world() -> World:
    world = World()
    world.settings.offload_users = ["spark"]
    engine = Engine(VOCABULARY)
    engine.offloads = OffloadRule(["RECOGNIZE", "P95"], 3600.0, ["+/temp", "garden/#"])
    world.broker = Broker(world.settings, Journal(), world.now, engine)
    return world


def wanted(spark: MemoryClient) -> dict[str, Any]:
    """What was told since the last look, by filter; None for what is wanted no more."""
    told: dict[str, Any] = {}
    for message in spark.messages():
        assert message.topic.startswith(WANTED)
        document = json.loads(message.payload) if message.payload else None
        told[document["filter"] if document else message.topic] = document
    return told


def answer(spark: MemoryClient, key: str, topic: str, payload: str = "5.0") -> None:
    spark.publish(ANSWER, payload, qos=1, user=[(KEY_PROPERTY, key), (TOPIC_PROPERTY, topic)])


def test_what_is_left_to_others(world: World) -> None:
    spark = world.client("s", user="spark")
    assert spark.subscribe(WANTED + "#") == [0]
    reader = world.client("r")
    filters = (AVERAGE, "$SUM;RPT$HOURLYMAX/+/temp", "$RECOGNIZE/garden", "$P95/garden/+")
    reader.subscribe(*filters, "$QUARTERHOURLYAVG/+/temp", "$AVG/+/temp", "$GT;3/+/temp")
    told = wanted(spark)
    assert sorted(told) == sorted(filters)
    assert told[AVERAGE] == {
        "key": f"skr 0.0 {AVERAGE}",
        "filter": AVERAGE,
        "reply": "skr",
        "ttl": 3600.0,
        "windows": {"DAILY": 86400.0},
        "since": world.now,
    }
    assert told["$SUM;RPT$HOURLYMAX/+/temp"]["reply"] == "rpt"
    assert statistics(world.broker.core, world.now)["operators/offloaded"] == "4"
    world.client("w").publish("a/temp", "7")
    world.wait(86400.0)
    assert {message.topic for message in reader.messages()} == {
        "$QUARTERHOURLYAVG/a/temp",
        "$AVG/$AGGREGATE/temp",
        "$GT;3/a/temp",
    }


def test_answers_are_results_like_any_other(world: World) -> None:
    reader = world.client("r")
    reader.subscribe(AVERAGE, qos=1, identifier=9)
    world.client("other").subscribe("a/temp")
    spark = world.client("s", user="spark")
    spark.subscribe(WANTED + "#")
    key = wanted(spark)[AVERAGE]["key"]
    answer(spark, key, "$DAILYAVG/a/temp")
    [message] = reader.messages()
    assert (message.topic, message.payload, message.qos) == ("$DAILYAVG/a/temp", b"5.0", 1)
    assert message.properties is not None
    assert message.properties.subscription_ids == [9]
    assert message.properties.user == []
    later = world.client("later")
    later.subscribe(AVERAGE)
    assert later.payloads() == ["5.0"]


def test_what_is_wanted_no_more(world: World) -> None:
    spark = world.client("s", user="spark")
    spark.subscribe(WANTED + "#")
    reader = world.client("r")
    reader.subscribe(AVERAGE)
    key = wanted(spark)[AVERAGE]["key"]
    reader.unsubscribe(AVERAGE)
    assert wanted(spark) == {}
    for _ in range(3):
        world.wait(LINGER / 2)
    assert list(wanted(spark).values()) == [None]
    answer(spark, key, "$DAILYAVG/a/temp")
    newcomer = world.client("n", user="spark")
    newcomer.subscribe(WANTED + "#")
    assert wanted(newcomer) == {}


@pytest.mark.parametrize("topic", ["$DAILYMAX/a/temp", "a/temp", "$SYS/x", "$DAILYAVG/+/temp", ""])
def test_answers_that_nobody_asked_for(world: World, topic: str) -> None:
    reader = world.client("r")
    reader.subscribe(AVERAGE, "$AVG/+/temp", "a/temp", "$SYS/x")
    reader.messages()
    spark = world.client("s", user="spark")
    answer(spark, f"skr 0.0 {AVERAGE}", topic)
    answer(spark, "skr 0.0 $AVG/+/temp", "$AVG/$AGGREGATE/temp")  # the broker's own business
    spark.publish(ANSWER, "5")
    assert reader.messages() == []


def test_strangers_may_neither_ask_nor_answer(world: World) -> None:
    reader = world.client("r")
    reader.subscribe(AVERAGE)
    stranger = world.client("x", user="eve")
    for filter in (WANTED + "#", ANSWER, "$gossamer/#"):
        assert stranger.subscribe(filter) == [reasons.NOT_AUTHORIZED]
    answer(stranger, f"skr 0.0 {AVERAGE}", "$DAILYAVG/a/temp")
    [refusal] = stranger.take()
    assert isinstance(refusal, Acknowledgement)
    assert refusal.reason == reasons.NOT_AUTHORIZED
    assert reader.messages() == []
    spark = world.client("s", user="spark")
    assert spark.subscribe("$gossamer/#") == [reasons.NOT_AUTHORIZED]
    assert spark.subscribe(f"$share/g/{WANTED}#") == [reasons.NOT_AUTHORIZED]


def test_what_cannot_be_answered_elsewhere(world: World) -> None:
    reader = world.client("r")
    invalid = [reasons.TOPIC_FILTER_INVALID]
    assert reader.subscribe("$DAILYAVG/#") == invalid
    assert reader.subscribe("$P95/garden/+", user=[("plus_every", "5")]) == invalid
    assert reader.subscribe("$AVG/garden/+", user=[("plus_every", "5")]) == [0]
