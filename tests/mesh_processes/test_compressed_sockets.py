"""Links on real sockets: compressed, over TLS with certificates at both ends, or both."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gossamer.mesh.sys_topics import link_counts
from gossamer.net.client import Client
from gossamer.net.config import ConfigError, parse
from gossamer.net.resolved_config import read_resolved
from gossamer.wire import compression
from tests.support.certificates import authority
from tests.support.live import LiveBroker, live
from tests.support.mesh_clients import Reader, client
from tests.support.polling import eventually

pytestmark = pytest.mark.processes

BROKER = """
[[listener]]
kind = "{kind}"
host = "127.0.0.1"
port = 0
anonymous = "always"
{listener_tls}
[mesh]
name = "{name}"
{proof}
{compression}
"""
LISTENER_TLS = """
[listener.tls]
certificate = "{pem}"
key = "{key}"
client_ca = "{ca}"
client_certificate = "required"
[[listener]]
host = "127.0.0.1"
port = 0
"""
PEER = """
[[mesh.peer]]
host = "127.0.0.1"
port = {port}
"""
PEER_TLS = """
[mesh.peer.tls]
ca = "{ca}"
certificate = "{pem}"
key = "{key}"
server_name = "localhost"
"""


def configuration(
    folder: Path, name: str, kind: str, port: int = 0, compression: str = "zstd"
) -> str:
    """Of a broker that dials `port`; certificates prove names where links speak TLS."""
    listener_tls = peer = ""
    ca = authority().write(folder)
    pem, key = authority().issue(folder, name)
    if port:
        peer = PEER.format(port=port)
    if kind == "tls":
        listener_tls = LISTENER_TLS.format(pem=pem, key=key, ca=ca)
        proof = 'trust_certificates = ["a", "b"]'
        peer += PEER_TLS.format(pem=pem, key=key, ca=ca) if port else ""
    else:
        secret = folder / "mesh.key"
        secret.write_text("a key that both of them have\n")
        proof = f'key_file = "{secret}"'
    text = BROKER.format(
        kind=kind,
        name=name,
        listener_tls=listener_tls,
        proof=proof,
        compression=f'compression = "{compression}"' if port else "",
    )
    return text + peer


Pair = tuple[LiveBroker, LiveBroker]
KINDS = [("tcp", "zstd"), ("tls", "none"), ("tls", "zstd")]


@pytest.fixture(params=KINDS, ids=[f"{kind}, {compression}" for kind, compression in KINDS])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    """b dials a."""
    kind, compression = request.param
    with ExitStack() as brokers:
        a = brokers.enter_context(live(configuration(tmp_path, "a", kind)))
        text = configuration(tmp_path, "b", kind, a.port(), compression)
        b = brokers.enter_context(live(text))
        eventually(lambda: bool(counts(a, "b")) and bool(counts(b, "a")))
        is_compressed = compression == "zstd"
        assert is_read_compressed(a, "b") == is_read_compressed(b, "a") == is_compressed
        yield a, b


def counts(broker: LiveBroker, neighbour: str) -> dict[str, int]:
    """Of the link to it, once that is in the tree."""
    mesh = broker.server.mesh
    assert mesh is not None
    link = mesh.by_name.get(neighbour)
    if link is None or link.connection is None or not link.in_tree:
        return {}
    return broker.ask(lambda: link_counts(mesh, link))


def is_read_compressed(broker: LiveBroker, neighbour: str) -> bool:
    mesh = broker.server.mesh
    assert mesh is not None
    connection = mesh.by_name[neighbour].connection
    return connection is not None and connection.inflater is not None


def reading(number: int) -> str:
    return json.dumps({"sensor": f"s{number % 20}", "number": number, "unit": "degrees Celsius"})


async def publish_all(writer: Client, payloads: list[str]) -> None:
    for number, payload in enumerate(payloads):
        await writer.publish(f"plant/{number % 4}", payload.encode(), number % 3)


@pytest.mark.parametrize("way", ["to the one that dialled", "from the one that dialled"])
def test_messages_of_all_sizes_cross(pair: Pair, way: str) -> None:
    near, far = pair if way.startswith("to") else (pair[1], pair[0])
    readings = [reading(number) for number in range(3_000)]
    large = "x" * 1_000_000  # some hundred bytes on the link, and many turns to handle

    async def main() -> None:
        reader = client(far.port(-1), "reader")
        await reader.connect()
        await reader.subscribe("plant/#", qos=2)
        got = Reader(reader)
        writer = client(near.port(-1), "writer")
        await writer.connect()
        while "ready" not in got.payloads:
            await writer.publish("plant/0", b"ready", 1)
            await asyncio.sleep(0.01)
        await publish_all(writer, [*readings, large, "behind it"])
        await got.until({*readings, large, "behind it"})
        await writer.disconnect()
        await got.close()
        assert [one for one in got.payloads if one != "ready"][-1] == "behind it"
        assert set(got.repeated()) <= {"ready"}

    asyncio.run(main())
    name = "b" if near is pair[0] else "a"
    found = counts(near, name)
    if is_read_compressed(near, name):
        assert found["wire_bytes_sent"] * 4 < found["bytes_sent"]
    else:
        assert found["wire_bytes_sent"] == found["bytes_sent"]


def test_a_peer_can_be_left_plain(tmp_path: Path) -> None:
    text = configuration(tmp_path, "b", "tcp", 1883) + 'compression = "none"\n'
    resolved = read_resolved(parse(text))
    section = resolved.config.mesh
    assert section is not None
    assert (section.compression, section.peer[0].compression) == ("zstd", "none")


def test_compression_without_its_library_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "_library", lambda: None)
    read_resolved(parse(configuration(tmp_path, "a", "tcp", 1883, "none")))
    with pytest.raises(ConfigError, match=r"pip install 'gossamer\[zstd\]'"):
        read_resolved(parse(configuration(tmp_path, "a", "tcp", 1883)))


def test_a_neighbour_without_the_library_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("gossamer.net.resolved_config.can_compress", lambda: True)
    monkeypatch.setattr(compression, "_library", lambda: None)
    with ExitStack() as brokers:
        a = brokers.enter_context(live(configuration(tmp_path, "a", "tcp")))
        brokers.enter_context(live(configuration(tmp_path, "b", "tcp", a.port())))
        eventually(lambda: "the link to a is not compressed" in caplog.text)
