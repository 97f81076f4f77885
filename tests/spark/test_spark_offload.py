"""A broker that leaves operators to Spark, a Spark that answers, and a client that sees no more
than results."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.cli import main
from gossamer.net.auth.passwords import HASHER, write_entries
from tests.support.paho_client import Paho, connected
from tests.support.polling import eventually
from tests.support.processes import command, stop, wait_for_port

pytest.importorskip("pyspark")
pytest.importorskip("cv2")

from gossamer.net.local.ports import free_port
from gossamer.spark import answer
from gossamer.spark.offload.answers import OffloadService
from gossamer.spark.offload.requests import WantedOperator, read_wanted
from gossamer.spark.sink.publisher import SinkError
from gossamer.vision.settings import WorkerSettings
from tests.support.images import encoded
from tests.support.processors import PLACES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.processes

PATIENCE = 400.0
SECRET = "s3cret"
CONFIG = """
[[listener]]
port = {port}
anonymous = "local"

[auth]
password_file = "{folder}/passwords"

[store]
kind = "memory"

[archive]
folder = "{folder}/archive"
replay_port = {replay}

[plus.windows]
SHORT = "3 s"

[plus.offload]
operators = ["RECOGNIZE"]
windows = "3 s"
users = ["spark"]
"""


@contextmanager
def broker(folder: Path, port: int, replay: int) -> Iterator[None]:
    """A process of its own, without models."""
    users = {name: HASHER.hash(SECRET) for name in ("spark", "eve")}
    write_entries(folder / "passwords", users)
    config = folder / "gossamer.toml"
    config.write_text(CONFIG.format(port=port, replay=replay, folder=folder))
    process = subprocess.Popen(
        command("serve", "--config", str(config)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "XDG_DATA_HOME": str(folder)},
    )
    try:
        wait_for_port(port, process)
        wait_for_port(replay, process)
        yield
    finally:
        stop(process)


@contextmanager
def answering(
    spark: "SparkSession", folder: Path, port: int, replay: int, **more: Any
) -> Iterator[OffloadService]:
    login = {"user": "spark", "password": SECRET}
    with answer(
        spark,
        url=f"mqtt://127.0.0.1:{port}",
        brokers=f"127.0.0.1:{replay}",
        checkpoints=folder / "checkpoints",
        lateness="2 seconds",
        processors={"RECOGNIZE": PLACES["SIZE"]},
        vision=WorkerSettings(".", seconds=60.0),
        **{**login, **more},
    ) as running:
        yield running


def collect(
    running: OffloadService, client: Paho, is_enough: Callable[[dict[str, list[bytes]]], bool]
) -> None:
    found: dict[str, list[bytes]] = {}

    def looked() -> bool:
        running.look()
        for message in client.take(1) if not client.messages.empty() else []:
            found.setdefault(message.topic, []).append(bytes(message.payload))
        return is_enough(found)

    eventually(looked, lambda: str(found), PATIENCE, pause=0.1)


def test_from_a_subscription_to_sparks_answer(spark: "SparkSession", tmp_path: Path) -> None:
    port, replay = free_port(), free_port()
    filters = ["$RECOGNIZE/garden", "$SHORTSUM/a/temp"]
    with broker(tmp_path, port, replay), connected(port, "reader") as reader:
        for filter in filters:
            assert reader.subscribe(filter, qos=1) == [1]
        with connected(port, "writer") as writer:
            for number in range(5):
                writer.publish("a/temp", b"%d" % number, qos=1)
            writer.publish("garden", b"no image", qos=1)
            writer.publish("garden", encoded("png", 32, 16), qos=1)
        assert reader.messages.empty()
        with answering(spark, tmp_path, port, replay) as running:

            def is_enough(found: dict[str, list[bytes]]) -> bool:
                sums = [float(text) for text in found.get("$SHORTSUM/a/temp", [])]
                assert sum(sums) <= 10.0
                return sum(sums) == 10.0 and found.get("$RECOGNIZE/garden") == [b"[32,16]"]

            collect(running, reader, is_enough)
            assert running.running() == filters
        with connected(port, "writer") as writer:
            writer.publish("a/temp", b"32", qos=1)
        with answering(spark, tmp_path, port, replay) as running:
            collect(running, reader, lambda found: found == {"$SHORTSUM/a/temp": [b"32.0"]})


def test_only_some_may_answer(spark: "SparkSession", tmp_path: Path) -> None:
    port, replay = free_port(), free_port()
    with broker(tmp_path, port, replay):
        with (
            pytest.raises(SinkError, match="eve may not answer; the broker lists who may in"),
            answering(spark, tmp_path, port, replay, user="eve"),
        ):
            pass
        with (
            pytest.raises(SinkError, match="CONNECT"),
            answering(spark, tmp_path, port, replay, password="guess"),
        ):
            pass


def test_a_wrong_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["pipeline", "offload", "--lateness", "soon"]) == 2
    assert "--lateness: 'soon' is not a duration" in capsys.readouterr().err


def test_what_a_broker_tells() -> None:
    told = (
        b'{"key": "skr 0.0 $SHORTSUM/a", "filter": "$SHORTSUM/a", "reply": "skr", "ttl": 60,'
        b' "windows": {"SHORT": 3.0}, "since": 1925000000.5}'
    )
    wanted = WantedOperator(
        "skr 0.0 $SHORTSUM/a", "$SHORTSUM/a", "skr", 60.0, (("SHORT", 3.0),), 1925e6 + 0.5
    )
    assert read_wanted(told) == wanted
    assert [window.seconds for window in wanted.own_windows()] == [3.0]
    assert wanted.starting() == "2031-01-01T02:13:20.500000+00:00"
    for bad in (b"", b"[]", b"{}", b'{"key": 1}'):
        with pytest.raises(ValueError):
            read_wanted(bad)
