"""A recommendation about a mesh of two real brokers, by what they archived and what they tell."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.admin_service import TOKEN, admin_port
from tests.support.archive_brokers import endpoint, publish
from tests.support.live import LiveBroker, RawClient, live
from tests.support.polling import eventually

pytest.importorskip("pyspark")

from gossamer.spark import table
from gossamer.spark.pipelines.pipeline import AdminAccess, PipelineError, PipelineSettings
from gossamer.spark.pipelines.run import PipelineRun, find

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def admin_of(broker: LiveBroker) -> AdminAccess:
    return AdminAccess("127.0.0.1", admin_port(broker), TOKEN)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[LiveBroker, LiveBroker]]:
    key = tmp_path / "key"
    key.write_text("a key for these tests\n")
    text = (
        "[[listener]]\nport = 0\n[store]\nkind = 'memory'\n[archive]\nreplay_port = 0\n"
        f"folder = '{tmp_path}/archive'\n[mesh]\nkey_file = '{key}'\nname = "
    )
    with ExitStack() as stack:
        a = stack.enter_context(live(f"{text}'a'"))
        peer = f"[[mesh.peer]]\nhost = '127.0.0.1'\nport = {a.port()}\n"
        b = stack.enter_context(live(f"{text}'b'\n{peer}"))
        eventually(lambda: all(_is_linked(broker) for broker in (a, b)))
        yield a, b


def _is_linked(broker: LiveBroker) -> bool:
    mesh = broker.server.mesh
    assert mesh is not None
    return any(link.connection is not None for link in mesh.by_name.values())


def reader(broker: LiveBroker, name: str, *filters: str) -> RawClient:
    client = RawClient.to(broker.port())
    assert client.login(client_id=name).reason == 0
    assert client.subscribe(*filters) == [0] * len(filters)
    return client


def test_a_recommendation(
    spark: "SparkSession", tmp_path: Path, pair: tuple[LiveBroker, LiveBroker]
) -> None:
    a, b = pair
    clients = [
        reader(b, "far", "plant/+", "never/#"),
        reader(a, "near", "plant/one"),
        reader(b, "other", "office/#"),
    ]
    publish(a, [("plant/one", b"x" * 500), ("plant/two", b"x" * 300), ("dust/1", b"x" * 100)])
    publish(b, [("office/1", b"x" * 50)])
    lake = tmp_path / "lake"
    settings = PipelineSettings(
        endpoint(a, b), str(lake), is_once=True, admins=(admin_of(a), admin_of(b))
    )
    lines = PipelineRun(spark, find("insight"), settings).follow(lambda step: None)
    for client in clients:
        client.close()

    def rows(name: str, *columns: str) -> list[tuple[object, ...]]:
        frame = table(spark, f"{lake}/insight/{name}").select(*columns)
        return sorted(tuple(row) for row in frame.collect())

    assert rows("topics", "topic", "messages", "bytes", "readers") == [
        ("dust/1", 1, 100, 0),
        ("office/1", 1, 50, 1),
        ("plant/one", 1, 500, 2),
        ("plant/two", 1, 300, 1),
    ]
    assert rows("filters", "filter", "subscribers", "messages", "deliveries") == [
        ("never/#", 1, 0, 0),
        ("office/#", 1, 1, 1),
        ("plant/+", 1, 2, 2),
        ("plant/one", 1, 1, 1),
    ]
    assert rows("unread", "topic") == [("dust/1",)]
    assert rows("placement", "client", "broker", "better", "saves") == [("far", "b", "a", 800)]
    links = rows("link_loads", "broker", "neighbour")
    assert links == [("a", "b"), ("b", "a")]
    text = "\n".join(lines)
    assert "Connect `far` to **a** instead of b: 800 B less between brokers." in text
    assert "Stop or thin out 1 topics that nobody subscribes to: 1 messages, 100 B" in text
    assert "nothing was published for: `never/#`." in text
    assert (lake / "insight" / "report.md").read_text() in text + "\n"


def test_an_admin_api_for_each_broker(
    spark: "SparkSession", tmp_path: Path, pair: tuple[LiveBroker, LiveBroker]
) -> None:
    settings = PipelineSettings(endpoint(*pair), str(tmp_path / "lake"), is_once=True)
    with pytest.raises(PipelineError, match="there are 2 --brokers and 0 --admin"):
        PipelineRun(spark, find("insight"), settings)
