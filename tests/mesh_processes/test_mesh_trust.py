"""Who may join a mesh, on real sockets: keys, certificates, and clients that try."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from gossamer.broker.mesh_port import PEER_METHOD
from gossamer.mesh.handshake import introduce
from gossamer.mesh.settings import MeshSettings
from gossamer.net.config import ConfigError, parse
from gossamer.net.resolved_config import read_resolved
from gossamer.wire import reasons
from gossamer.wire.packets import Auth, Connack, Connect
from gossamer.wire.properties import Properties
from tests.support.certificates import authority, client_context
from tests.support.live import LiveBroker, RawClient, live
from tests.support.polling import eventually

pytestmark = pytest.mark.processes


def standing(broker: LiveBroker) -> list[str]:
    mesh = broker.server.mesh
    assert mesh is not None
    return [link.name for link in mesh.by_name.values() if link.connection is not None]


def test_a_wrong_key_joins_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = "[[listener]]\nport = 0\n[mesh]\nname = '{0}'\nkey_file = '{1}'\n"
    keys = [tmp_path / "right", tmp_path / "wrong"]
    for file in keys:
        file.write_text(f"a key of this mesh: {file.name}\n")
    with ExitStack() as brokers:
        first = brokers.enter_context(live(text.format("a", keys[0])))
        dials = f"[[mesh.peer]]\nhost = '127.0.0.1'\nport = {first.port()}\n"
        wrong = brokers.enter_context(live(text.format("b", keys[1]) + dials))
        right = brokers.enter_context(live(text.format("c", keys[0]) + dials))
        eventually(lambda: standing(right) == ["a"])
        eventually(lambda: "does not know the key of this mesh" in caplog.text)
        assert standing(first) == ["c"]
        assert standing(wrong) == []


TLS = """
[[listener]]
kind = "tls"
host = "127.0.0.1"
port = 0
anonymous = "always"
[listener.tls]
certificate = "{pem}"
key = "{key}"
client_ca = "{ca}"
client_certificate = "required"
[mesh]
name = "{name}"
trust_certificates = ["a", "b"]
"""
DIALS = """
[[mesh.peer]]
host = "127.0.0.1"
port = {port}
[mesh.peer.tls]
ca = "{ca}"
certificate = "{pem}"
key = "{key}"
server_name = "localhost"
"""


@pytest.fixture
def ca(tmp_path: Path) -> Path:
    return authority().write(tmp_path)


def config(folder: Path, ca: Path, name: str, bearer: str, port: int = 0) -> str:
    """Of a broker that calls itself `name`, with the certificate of `bearer`."""
    pem, key = authority().issue(folder, bearer)
    text = TLS.format(name=name, pem=pem, key=key, ca=ca)
    return text + (DIALS.format(pem=pem, key=key, ca=ca, port=port) if port else "")


def test_certificates_prove_neighbours(
    tmp_path: Path, ca: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with ExitStack() as brokers:
        a = brokers.enter_context(live(config(tmp_path, ca, "a", "a")))
        b = brokers.enter_context(live(config(tmp_path, ca, "b", "b", a.port())))
        eventually(lambda: standing(a) == ["b"] and standing(b) == ["a"])
        # A certificate of the same authority, with the name of another or of no broker.
        liar = brokers.enter_context(live(config(tmp_path, ca, "b", "phone", a.port())))
        eventually(lambda: "wrong mesh key, or no trusted certificate" in caplog.text)
        caplog.clear()
        phone = brokers.enter_context(live(config(tmp_path, ca, "phone", "phone", a.port())))
        eventually(lambda: "wrong mesh key, or no trusted certificate" in caplog.text)
        assert standing(a) == ["b"]
        assert standing(liar) == standing(phone) == []


def test_a_client_with_a_certificate_is_still_a_client(tmp_path: Path, ca: Path) -> None:
    with live(config(tmp_path, ca, "a", "a")) as broker:
        context = client_context(ca, authority().issue(tmp_path, "phone"))
        for name in ("phone", "b"):
            client = RawClient.to(broker.port(), context=context)
            properties = Properties()
            properties.authentication_method = PEER_METHOD
            properties.authentication_data = introduce(MeshSettings(name)).encode()
            client.send(Connect(f"$mesh/{name}", properties=properties))
            client.expect(Auth)
            properties.authentication_data = b"\0" * 32
            client.send(Auth(reasons.CONTINUE_AUTHENTICATION, properties))
            assert client.expect(Connack).reason == reasons.NOT_AUTHORIZED
            assert client.is_closed()
        honest = RawClient.to(broker.port(), context=context)
        assert honest.login(client_id="phone").reason == 0
        assert standing(broker) == []


def test_what_cannot_prove_a_neighbour_is_refused_at_start(tmp_path: Path, ca: Path) -> None:
    with pytest.raises(ConfigError, match="trust_certificates"):
        read_resolved(parse("[mesh]\nname = 'a'\n"))
    text = config(tmp_path, ca, "b", "b", 1883)
    ca.write_text("no certificate")
    with pytest.raises(ConfigError, match="ca.pem"):
        read_resolved(parse(text))
