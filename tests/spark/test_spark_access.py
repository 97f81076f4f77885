"""Logins, permissions and TLS for source and sink: what is refused, and how it is said."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from gossamer.net.auth.passwords import HASHER, write_entries
from gossamer.spark.sink.exactly_once import Part, publish_once
from gossamer.spark.sink.publisher import Row, SinkError, publish_rows
from gossamer.spark.sink.sink_options import SinkOptions, read_sink_options
from gossamer.spark.source.archives import SourceError
from gossamer.spark.source.batch_reader import GossamerReader
from gossamer.spark.source.source_options import read_source_options
from tests.support.archive_brokers import replay_port
from tests.support.certificates import authority
from tests.support.live import LiveBroker, live

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES = """
[[rule]]
users = ["ann"]
publish = ["in/#"]
subscribe = ["in/#"]
deny_subscribe = ["in/secret"]
[[rule]]
users = ["bob"]
publish = ["#"]
subscribe = ["#"]
"""

CONFIGURATION = """
[[listener]]
kind = "tls"
port = 0
[listener.tls]
certificate = "{certificate}"
key = "{key}"
[store]
kind = "memory"
[archive]
name = "b1"
folder = "{folder}"
replay_port = 0
[archive.tls]
certificate = "{certificate}"
key = "{key}"
[auth]
password_file = "{folder}/passwords"
[permissions]
file = "{folder}/rules"
"""

ANN = {"user": "ann", "password": "ann"}
BOB = {"user": "bob", "password": "bob"}
# Were a refusal taken for a broker that is away, it would be tried again for so long.
PATIENT = {"retrySeconds": "3600"}


class Guarded:
    """A broker with everything locked, and the options that reach it."""

    def __init__(self, broker: LiveBroker, authorities: Path) -> None:
        self.broker = broker
        self.trusting = {"caFile": str(authorities)}

    def source(self, **options: str) -> dict[str, str]:
        brokers = f"localhost:{replay_port(self.broker)}"
        return {"brokers": brokers, "tls": "true", **PATIENT, **options}

    def sink(self, **options: str) -> dict[str, str]:
        return {"url": f"mqtts://localhost:{self.broker.port()}", **PATIENT, **options}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded")
    certificate, key = authority().issue(folder, "server")
    write_entries(folder / "passwords", {name: HASHER.hash(name) for name in ("ann", "bob")})
    (folder / "rules").write_text(RULES)
    with live(CONFIGURATION.format(certificate=certificate, key=key, folder=folder)) as broker:
        yield Guarded(broker, authority().write(folder))


def messages(*topics: str) -> list[Row]:
    return [{"topic": topic, "payload": topic} for topic in topics]


def test_rows_go_in_and_come_back_by_tls_and_login(spark: "SparkSession", guarded: Guarded) -> None:
    frame = spark.createDataFrame(
        [(f"in/{n}", "x") for n in range(20)], "topic string, payload string"
    )
    options = guarded.sink(**guarded.trusting, **ANN)
    frame.write.format("gossamer").options(**options).mode("append").save()
    publish_rows(
        iter(messages("in/secret", "out/1")),
        read_sink_options(guarded.sink(**guarded.trusting, **BOB)),
    )
    seen = {}
    for name, filter in (("ann", "in/#"), ("bob", "#")):
        options = guarded.source(**guarded.trusting, user=name, password=name, filter=filter)
        rows = spark.read.format("gossamer").options(**options).load().select("topic").collect()
        seen[name] = {row.topic for row in rows}
    assert seen["ann"] == {f"in/{n}" for n in range(20)}
    assert seen["bob"] == seen["ann"] | {"in/secret", "out/1"}


SOURCE_REFUSALS = {
    "nobody": ({}, "see the options user, password and token"),
    "a wrong password": ({"user": "ann", "password": "bob"}, "see the options user, password"),
    "a filter that is not permitted": ({**ANN, "filter": "out/#"}, "may not read 'out/#': narrow"),
}


@pytest.mark.parametrize(("options", "complaint"), SOURCE_REFUSALS.values(), ids=SOURCE_REFUSALS)
def test_a_source_that_is_refused(
    guarded: Guarded, options: dict[str, str], complaint: str
) -> None:
    publish_rows(iter(messages("in/1")), read_sink_options(guarded.sink(**guarded.trusting, **BOB)))
    history = GossamerReader(read_source_options(guarded.source(**guarded.trusting, **options)))
    with pytest.raises(SourceError, match=complaint):
        [list(history.read(part)) for part in history.partitions()]


def test_a_source_that_is_not_trusted(guarded: Guarded) -> None:
    history = GossamerReader(read_source_options(guarded.source(**BOB)))
    with pytest.raises(SourceError, match=r"certificate of localhost:\d+ is not trusted: .*caFile"):
        history.partitions()


SINK_REFUSALS = {
    "nobody": ({}, "a user name and a password are required"),
    "a wrong password": ({"user": "ann", "password": "bob"}, "0x86: see the options user"),
    "a topic that is not permitted": (ANN, "you may not publish to 'out/1'"),
}


@pytest.mark.parametrize("once", [False, True], ids=["at least once", "once"])
@pytest.mark.parametrize(("options", "complaint"), SINK_REFUSALS.values(), ids=SINK_REFUSALS)
def test_a_sink_that_is_refused(
    guarded: Guarded, options: dict[str, str], complaint: str, once: bool
) -> None:
    settings = read_sink_options(guarded.sink(**guarded.trusting, **options))
    with pytest.raises(SinkError, match=complaint):
        publish(messages("out/1"), settings, once)


@pytest.mark.parametrize("once", [False, True], ids=["at least once", "once"])
def test_a_sink_that_is_not_trusted(guarded: Guarded, once: bool) -> None:
    settings = read_sink_options(guarded.sink(**BOB))
    with pytest.raises(SinkError, match=r"certificate of mqtts://localhost:\d+ is not trusted"):
        publish(messages("out/1"), settings, once)


def publish(rows: list[Row], settings: SinkOptions, once: bool) -> None:
    if once:
        publish_once(rows, Part("query", 0, 0), settings)
    else:
        publish_rows(iter(rows), settings)


def test_spark_says_what_was_refused(spark: "SparkSession", guarded: Guarded) -> None:
    options = guarded.source(**guarded.trusting, user="ann", password="wrong")
    with pytest.raises(Exception, match="see the options user, password and token"):
        spark.read.format("gossamer").options(**options).load().collect()
    frame = spark.createDataFrame([("out/1", "x")], "topic string, payload string")
    writer = frame.write.format("gossamer").options(**guarded.sink(**guarded.trusting, **ANN))
    with pytest.raises(Exception, match="you may not publish to 'out/1'"):
        writer.mode("append").save()
