"""The mesh through the admin API, the metrics and `gossamer ctl`, on real sockets."""

import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gossamer.cli import main
from gossamer.mesh.mesh import Mesh
from gossamer.mesh.sys_topics import statistics
from gossamer.net.admin.client import AdminClient, AdminError
from gossamer.net.admin.mesh_views import mesh_view
from gossamer.net.admin.metrics import exposition
from gossamer.net.admin.server import AdminServer
from gossamer.net.config.root import Admin
from gossamer.wire.packets import PUBACK, Acknowledgement, Pingreq, Pingresp, Publish
from tests.support.admin_service import assert_as_documented
from tests.support.live import LiveBroker, RawClient, live
from tests.support.polling import eventually

TOKEN = "a-token-for-the-tests"


async def _no_reload() -> list[str]:
    return []


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[LiveBroker, LiveBroker]]:
    """`b` has dialled `a`, and the link stands."""
    key = tmp_path / "key"
    key.write_text("a key for these tests\n")
    text = "[[listener]]\nport = 0\n[mesh]\nname = '{}'\nkey_file = '{}'\n"
    with live(text.format("a", key)) as a:
        dials = f"[[mesh.peer]]\nhost = '127.0.0.1'\nport = {a.port()}\n"
        with live(text.format("b", key) + dials) as b:
            eventually(lambda: _links(a) == ["b"] and _links(b) == ["a"])
            yield a, b


def _links(broker: LiveBroker) -> list[str]:
    mesh = broker.server.mesh
    assert mesh is not None
    return [link.name for link in mesh.by_name.values() if link.connection is not None]


@pytest.fixture
def where(pair: tuple[LiveBroker, LiveBroker], monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of the admin API of `a`."""
    a = pair[0]

    async def start() -> tuple[AdminServer, int]:
        server = AdminServer(a.broker, Admin(port=0), TOKEN, _no_reload)
        return server, await server.open()

    monkeypatch.setenv("GOSSAMER_ADMIN_TOKEN", TOKEN)
    server, port = a.call(start())
    yield f"http://127.0.0.1:{port}"
    a.ask(server.close)


def test_one_link_of_a_triangle_is_on_standby(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("a key for these tests\n")
    text = "[[listener]]\nport = 0\n[mesh]\nname = '{}'\nkey_file = '{}'\n"
    dials = "[[mesh.peer]]\nhost = '127.0.0.1'\nport = {}\n"
    with live(text.format("a", key)) as a:
        to_a = dials.format(a.port())
        with (
            live(text.format("b", key) + to_a) as b,
            live(text.format("c", key) + to_a + dials.format(b.port())) as c,
        ):
            eventually(lambda: _roles(a, b, c) == ["standby"] * 2 + ["tree"] * 4)


def _roles(*brokers: LiveBroker) -> list[str]:
    """Of every end of a link that stands."""
    told = [broker.ask(partial(mesh_view, broker.broker.core, {})) for broker in brokers]
    entries = [entry for view in told for entry in view["entries"] if entry["connected"]]
    return sorted(entry["role"] for entry in entries)


def test_a_link_is_cut_and_healed(pair: tuple[LiveBroker, LiveBroker]) -> None:
    a, b = pair

    async def start(broker: LiveBroker) -> tuple[AdminServer, int]:
        mesh_links = broker.server.mesh_links
        server = AdminServer(broker.broker, Admin(port=0), TOKEN, _no_reload, mesh_links)
        return server, await server.open()

    servers = [(broker, broker.call(start(broker))) for broker in pair]
    of_a, of_b = (AdminClient("127.0.0.1", port, TOKEN) for _, (_, port) in servers)
    with pytest.raises(AdminError, match="ask the other end"):
        of_a.call("POST", "/v1/mesh/b/cut")
    of_b.call("POST", "/v1/mesh/a/cut")
    eventually(lambda: _links(a) == [] and _links(b) == [])
    of_b.call("POST", "/v1/mesh/a/heal")
    eventually(lambda: _links(a) == ["b"] and _links(b) == ["a"])
    for broker, (server, _) in servers:
        broker.ask(server.close)


def test_links_are_shown_and_forgotten(
    pair: tuple[LiveBroker, LiveBroker], where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = pair
    reader = RawClient.to(a.port())
    reader.login(client_id="reader")
    reader.subscribe("t")
    writer = RawClient.to(b.port())
    writer.login(client_id="writer")
    eventually(lambda: len(b.broker.core.sessions["$mesh/a"].subscriptions) == 1)
    writer.publish("t", b"hello")
    assert reader.read() is not None

    assert main.run(["ctl", "mesh", "--json", "--url", where]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["neighbour"], shown["connected"], shown["dialled"]) == ("b", True, False)
    assert (shown["messages_received"], shown["interests_told"]) == (1, 1)
    assert shown["bytes_received"] > shown["control_bytes_received"] > 0

    text = a.ask(lambda: exposition(a.broker.core)).decode()
    samples = {
        (sample.name, sample.labels.get("neighbour")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples["gossamer_link_connected", "b"] == 1
    assert samples["gossamer_link_messages_received_total", "b"] == 1

    b.stop()
    eventually(lambda: _links(a) == [])
    assert main.run(["ctl", "mesh", "--url", where]) == 0
    assert " away " in capsys.readouterr().out
    assert main.run(["ctl", "mesh-forget", "b", "--url", where]) == 0
    assert main.run(["ctl", "mesh-forget", "b", "--url", where]) == 1
    assert "no neighbour b" in capsys.readouterr().err


def test_the_answer_is_as_the_document_says(pair: tuple[LiveBroker, LiveBroker]) -> None:
    for broker in pair:
        server = broker.ask(partial(AdminServer, broker.broker, Admin(), TOKEN, _no_reload))
        shown = json.loads(json.dumps(broker.ask(partial(mesh_view, broker.broker.core, {}))))
        assert len(shown["entries"]) == 1
        assert_as_documented(server, "/v1/mesh", shown)


def test_a_broker_that_stands_alone_has_no_mesh() -> None:
    with live() as alone:
        assert b"gossamer_link" not in alone.ask(lambda: exposition(alone.broker.core))


def test_the_mode_changes_under_traffic(
    pair: tuple[LiveBroker, LiveBroker], where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = pair
    reader = RawClient.to(b.port())
    reader.login(client_id="reader")
    reader.subscribe("t/#", qos=1)
    writer = RawClient.to(a.port())
    writer.login(client_id="writer")
    eventually(lambda: a.ask(lambda: _mesh(a).remote_interest.held(_mesh(a).by_name["b"])) > 0)
    number = 0
    for mode in ("bloom", "pf", "auto", "sf", "ssf"):
        assert main.run(["ctl", "mesh-mode", mode, "--url", where]) == 0
        while b.ask(lambda: _mesh(b).settings.mode) != mode or number % 20:
            number += 1
            writer.publish("t/x", b"%d" % number, qos=1, packet_id=number)
    got: list[int] = []
    while len(got) < number:
        packet = reader.expect(Publish)
        reader.send(Acknowledgement(PUBACK, packet.packet_id))
        got.append(int(packet.payload))
    assert got == list(range(1, number + 1))
    assert main.run(["ctl", "mesh-mode", "fast", "--url", where]) == 2
    capsys.readouterr()
    assert main.run(["ctl", "mesh", "--json", "--url", where]) == 0
    assert json.loads(capsys.readouterr().out)["held_as"] == "filters"


def test_what_auto_chose_is_shown(
    pair: tuple[LiveBroker, LiveBroker], where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    a, _ = pair
    assert main.run(["ctl", "mesh-mode", "auto", "--url", where]) == 0
    writer = RawClient.to(a.port())
    writer.login(client_id="writer")
    writer.publish("site/1", b"x" * 5000)
    writer.send(Pingreq())
    writer.expect(Pingresp)
    a.ask(lambda: _mesh(a).auto.look(time.time()))
    capsys.readouterr()
    assert main.run(["ctl", "mesh-choices", "--json", "--url", where]) == 0
    choice = json.loads(capsys.readouterr().out)
    assert (choice["branch"], choice["mode"], choice["spr"]) == ("site", "ssf", 0.0)
    metrics = a.ask(lambda: exposition(a.broker.core)).decode()
    assert 'gossamer_auto_flooded{branch="site"} 0.0' in metrics
    topics = a.ask(lambda: statistics(_mesh(a)))
    assert json.loads(topics["auto/site"])["published_bytes"] >= 5000


def _mesh(broker: LiveBroker) -> Mesh:
    mesh = broker.server.mesh
    assert mesh is not None
    return mesh
