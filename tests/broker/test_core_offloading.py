"""Operators that are left to others: who is told, who may answer, and what subscribers get."""

import json
from typing import Any

import pytest

from gossamer.broker.broker import Broker
from gossamer.broker.offload import (
    ANSWER,
    KEY_PROPERTY,
    TIME_PROPERTY,
    TOPIC_PROPERTY,
    WANTED,
)
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


# Nobody answers ---------------------------------------------------------------------------------

PATIENCE = 60.0
HOUR = 3600.0
HOURLY = "$HOURLYSUM/+/temp"
MEDIAN = "$P95/garden/+"


@pytest.fixture
def patient(world: World) -> World:
    """It waits for a minute for those who answer; it has no models."""
    engine = Engine(VOCABULARY)
    archived = ["+/temp", "garden/#"]
    engine.offloads = OffloadRule(["RECOGNIZE", "P95"], HOUR, archived, PATIENCE, ["RECOGNIZE"])
    world.broker = Broker(world.settings, Journal(), world.now, engine)
    return world


def wall(world: World) -> float:
    return world.now + world.broker.core.wall_offset


def taken_over(world: World) -> str:
    return statistics(world.broker.core, world.now)["operators/taken_over"]


def live_sign(spark: MemoryClient, filter: str) -> None:
    spark.publish(ANSWER, "", qos=1, user=[(KEY_PROPERTY, f"skr 0.0 {filter}")])


def dated(spark: MemoryClient, filter: str, payload: str, time: float) -> None:
    topic = filter.replace("+/temp", "a/temp").replace("garden/+", "garden/$AGGREGATE")
    about = [(KEY_PROPERTY, f"skr 0.0 {filter}"), (TOPIC_PROPERTY, topic)]
    spark.publish(ANSWER, payload, qos=1, user=[*about, (TIME_PROPERTY, repr(time))])


def test_the_broker_computes_what_nobody_answers(patient: World) -> None:
    reader, writer = patient.client("r"), patient.client("w")
    reader.subscribe(MEDIAN, "$RECOGNIZE/garden")
    writer.publish("garden/a", "5")
    assert reader.payloads() == []
    patient.wait(1.5 * PATIENCE)
    assert taken_over(patient) == "1"  # it has no models for the other
    writer.publish("garden/a", "7")
    writer.publish("garden", "an image")
    assert reader.payloads() == ["7.0"]
    newcomer = patient.client("n")
    newcomer.subscribe(MEDIAN)
    assert newcomer.payloads() == ["7.0"]
    # It is not forgotten while it has subscribers, and is told as wanted no more after that.
    spark = patient.client("s", user="spark")
    spark.subscribe(WANTED + "#")
    assert wanted(spark)[MEDIAN]["patience"] == PATIENCE
    reader.unsubscribe(MEDIAN)
    newcomer.unsubscribe(MEDIAN)
    for _ in range(3):
        patient.wait(LINGER / 2)
    assert list(wanted(spark).values()) == [None]
    assert taken_over(patient) == "0"


def test_who_answers_keeps_it(patient: World) -> None:
    reader, spark = patient.client("r"), patient.client("s", user="spark")
    reader.subscribe(MEDIAN)
    for _ in range(10):
        patient.wait(PATIENCE / 2)
        live_sign(spark, MEDIAN)
    assert taken_over(patient) == "0"
    patient.wait(1.5 * PATIENCE)
    assert taken_over(patient) == "1"
    live_sign(spark, MEDIAN)
    assert taken_over(patient) == "0"
    patient.client("w").publish("garden/a", "7")
    assert reader.payloads() == []


def test_no_result_is_sent_twice(patient: World) -> None:
    reader, spark = patient.client("r"), patient.client("s", user="spark")
    writer = patient.client("w")
    reader.subscribe(MEDIAN)
    began = wall(patient)
    patient.wait(1.5 * PATIENCE)
    writer.publish("garden/a", "7")
    at = wall(patient)
    assert reader.payloads() == ["7.0"]
    patient.wait(10)
    # The query is back, and reads from the archive what there was meanwhile.
    dated(spark, MEDIAN, "5.0", began)
    dated(spark, MEDIAN, "7.0", at)
    dated(spark, MEDIAN, "8.0", wall(patient) + 1.0)
    assert reader.payloads() == ["5.0", "8.0"]


def test_an_incomplete_window_is_left_to_others(patient: World) -> None:
    reader, spark = patient.client("r"), patient.client("s", user="spark")
    writer = patient.client("w")
    reader.subscribe(HOURLY)
    first_end = (wall(patient) // HOUR + 1) * HOUR
    writer.publish("a/temp", "1")
    patient.wait(1.5 * PATIENCE)
    assert taken_over(patient) == "1"
    writer.publish("a/temp", "2")
    patient.wait(first_end - wall(patient) + 60)
    assert reader.payloads() == []
    late = patient.client("late")
    late.subscribe(HOURLY)
    assert late.payloads() == []
    writer.publish("a/temp", "4")
    patient.wait(HOUR)
    assert reader.payloads() == ["4.0"]
    assert late.payloads() == ["4.0"]
    writer.publish("a/temp", "8")
    patient.wait(60)
    dated(spark, HOURLY, "3.0", first_end)
    dated(spark, HOURLY, "4.0", first_end + HOUR)
    dated(spark, HOURLY, "8.0", first_end + 2 * HOUR)
    assert reader.payloads() == ["3.0", "8.0"]
    patient.wait(HOUR)
    assert taken_over(patient) == "1"  # silent again; nothing was counted since
    assert reader.payloads() == []
