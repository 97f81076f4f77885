"""Every kind of listener on real sockets: TCP, TLS, WebSocket, Unix, behind a proxy."""

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
import websockets
from websockets.asyncio.client import connect as open_websocket
from websockets.typing import Subprotocol

from gossamer.net.config import ConfigError, parse
from gossamer.net.resolved_config import read_resolved
from gossamer.wire import reasons
from gossamer.wire.codec import decode, encode
from gossamer.wire.packets import V5, Connack, Connect, Publish, Request, Suback, Subscribe
from tests.support.certificates import authority, client_context
from tests.support.live import RawClient, live
from tests.support.polling import PATIENCE
from tests.support.proxy_headers import header


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the files of an authority, a server and the client `ann`."""
    authority().write(tmp_path)
    authority().issue(tmp_path, "server")
    authority().issue(tmp_path, "ann")
    return tmp_path


def tls_listener(folder: Path, kind: str = "tls", more: str = "", tls: str = "") -> str:
    return f"""
[[listener]]
kind = "{kind}"
port = 0
{more}
[listener.tls]
certificate = "{folder}/server.pem"
key = "{folder}/server.key"
{tls}
"""


def mutual(folder: Path, wanted: str = "required") -> str:
    return f'client_ca = "{folder}/ca.pem"\nclient_certificate = "{wanted}"'


ANN = ("ann.pem", "ann.key")


def ann(folder: Path) -> tuple[Path, Path]:
    return folder / ANN[0], folder / ANN[1]


def exchange(client: RawClient) -> None:
    """A message to oneself."""
    assert client.login(client_id="c").reason == reasons.SUCCESS
    assert client.subscribe("t/#") == [0]
    client.publish("t/1", b"hello")
    message = client.expect(Publish)
    assert (message.topic, message.payload) == ("t/1", b"hello")


def test_tcp() -> None:
    with live() as broker:
        exchange(RawClient.to(broker.port()))


def test_tls(folder: Path) -> None:
    with live(tls_listener(folder)) as broker:
        client = RawClient.to(broker.port(), context=client_context(folder / "ca.pem"))
        exchange(client)
        assert isinstance(client.socket, ssl.SSLSocket)
        cipher = client.socket.cipher()
        assert cipher is not None
        assert "GCM" in cipher[0] or "CHACHA20" in cipher[0]


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_old_tls_is_refused(folder: Path) -> None:
    with live(tls_listener(folder)) as broker:
        context = client_context(folder / "ca.pem")
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises((ssl.SSLError, ConnectionError)):
            RawClient.to(broker.port(), context=context)


def test_a_certificate_is_a_login(folder: Path) -> None:
    text = tls_listener(folder, tls=mutual(folder))
    with live(text) as broker:
        context = client_context(folder / "ca.pem", ann(folder))
        client = RawClient.to(broker.port(), context=context)
        assert client.login(client_id="c").reason == reasons.SUCCESS
        assert broker.ask(lambda: broker.broker.core.sessions["c"].user) == "ann"
        client = RawClient.to(broker.port(), context=context)
        answer = client.login(client_id="d", username="bob")
        assert answer.reason == reasons.BAD_USER_NAME_OR_PASSWORD


def no_login(port: int, context: ssl.SSLContext) -> bool:
    """Whether the broker ends the connection before a CONNACK."""
    try:
        client = RawClient.to(port, context=context)
        client.send(Connect("c"))
        return client.read() is None
    except (ssl.SSLError, ConnectionError):
        return True


def test_mutual_tls_without_a_certificate(folder: Path) -> None:
    other = authority("Other Authority")
    (folder / "other").mkdir()
    eve = other.issue(folder / "other", "eve")
    with live(tls_listener(folder, tls=mutual(folder))) as broker:
        assert no_login(broker.port(), client_context(folder / "ca.pem"))
        assert no_login(broker.port(), client_context(folder / "ca.pem", eve))
        assert not no_login(broker.port(), client_context(folder / "ca.pem", ann(folder)))


def test_an_optional_certificate(folder: Path) -> None:
    text = tls_listener(folder, tls=mutual(folder, "optional"))
    with live(text) as broker:
        client = RawClient.to(broker.port(), context=client_context(folder / "ca.pem"))
        assert client.login(client_id="c").reason == reasons.NOT_AUTHORIZED
        context = client_context(folder / "ca.pem", ann(folder))
        assert RawClient.to(broker.port(), context=context).login(client_id="c").reason == 0


def test_a_revoked_certificate(folder: Path) -> None:
    authority().issue(folder, "bob")
    file = authority().revoke(folder, folder / "ann.pem")
    text = tls_listener(folder, tls=mutual(folder) + f'\nrevoked = "{file}"')
    with live(text) as broker:
        assert no_login(broker.port(), client_context(folder / "ca.pem", ann(folder)))
        bob = client_context(folder / "ca.pem", (folder / "bob.pem", folder / "bob.key"))
        assert not no_login(broker.port(), bob)


def test_a_certificate_with_two_names_names_nobody(folder: Path) -> None:
    both = authority().issue(folder, "both", "ann", "admin")
    text = tls_listener(folder, tls=mutual(folder))
    with live(text) as broker:
        context = client_context(folder / "ca.pem", both)
        answer = RawClient.to(broker.port(), context=context).login(client_id="c")
        assert answer.reason == reasons.NOT_AUTHORIZED


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"server.pem": b"nonsense"}, "server.pem with key"),
        ({"server.key": None}, "cannot be read"),
        ({"ca.pem": b""}, "ca.pem: "),
    ],
)
def test_unusable_files_are_named(
    folder: Path, changes: dict[str, bytes | None], said: str
) -> None:
    for name, content in changes.items():
        (folder / name).unlink()
        if content is not None:
            (folder / name).write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_resolved(parse(tls_listener(folder, tls=mutual(folder))))
    assert said in str(caught.value)


def talk_over_websocket(url: str, **options: Any) -> None:
    async def main() -> None:
        protocols = [Subprotocol("mqtt")]
        async with open_websocket(url, subprotocols=protocols, **options) as socket:
            stream = encode(Connect("c"), V5) + encode(Subscribe(1, [Request("t")]), V5)
            stream += encode(Publish("t", b"x" * 100_000), V5)
            for at in range(0, len(stream), 30_011):  # packets across frames, and several in one
                await socket.send(stream[at : at + 30_011])
            received = b""
            while len(received) < 100_000:
                part = await asyncio.wait_for(socket.recv(), PATIENCE)
                assert isinstance(part, bytes)
                received += part
            connack, rest = _first(received)
            suback, rest = _first(rest)
            message, rest = _first(rest)
            assert isinstance(connack, Connack)
            assert isinstance(suback, Suback)
            assert isinstance(message, Publish)
            assert message.payload == b"x" * 100_000

    asyncio.run(main())


def _first(data: bytes) -> tuple[object, bytes]:
    length, shift, at = 0, 0, 1
    while True:
        length |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            break
        shift += 7
    return decode(data[0], data[at : at + length], V5), data[at + length :]


def test_websocket() -> None:
    with live('[[listener]]\nkind = "ws"\nport = 0') as broker:
        talk_over_websocket(f"ws://127.0.0.1:{broker.port()}/mqtt")
        talk_over_websocket(f"ws://127.0.0.1:{broker.port()}")


def test_a_websocket_at_another_path_or_protocol_is_refused() -> None:
    async def refused(url: str, protocol: str) -> int:
        try:
            async with open_websocket(url, subprotocols=[Subprotocol(protocol)]):
                return 101
        except websockets.InvalidStatus as error:
            return error.response.status_code

    with live('[[listener]]\nkind = "ws"\nport = 0\npath = "/mqtt"') as broker:
        url = f"ws://127.0.0.1:{broker.port()}"
        assert asyncio.run(refused(url + "/other", "mqtt")) == 404
        assert asyncio.run(refused(url + "/mqtt", "chat")) == 400


def test_secure_websocket_with_a_certificate(folder: Path) -> None:
    text = tls_listener(folder, "wss", tls=mutual(folder))
    with live(text) as broker:
        url = f"wss://localhost:{broker.port()}/mqtt"
        context = client_context(folder / "ca.pem", ann(folder))
        talk_over_websocket(url, ssl=context)
        assert no_login(broker.port(), client_context(folder / "ca.pem"))


def test_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "s"
    text = f'[[listener]]\nkind = "unix"\nsocket = "{path}"\nsocket_mode = "600"'
    for _ in range(2):  # the second time over a socket that was left behind
        with live(text) as broker:
            assert path.stat().st_mode & 0o777 == 0o600
            connected = socket.socket(socket.AF_UNIX)
            connected.connect(str(path))
            exchange(RawClient(connected))
            with pytest.raises(OSError, match="in use"), live(text):
                pass
            del broker
        assert not path.exists()
        leftover = socket.socket(socket.AF_UNIX)
        leftover.bind(str(path))
        leftover.close()


PROXIED = "proxy_protocol = true\n"
FROM_AFAR = '[[listener]]\nport = 0\nanonymous = "local"\n' + PROXIED


def behind_proxy(port: int, head: bytes, context: ssl.SSLContext | None = None) -> RawClient:
    connected = socket.create_connection(("127.0.0.1", port), PATIENCE)
    connected.sendall(head)
    if context is not None:
        connected = context.wrap_socket(connected, server_hostname="localhost")
    return RawClient(connected)


def test_the_address_behind_a_proxy_counts() -> None:
    with live(FROM_AFAR) as broker:
        near = behind_proxy(broker.port(), header("127.0.0.1"))
        assert near.login(client_id="near").reason == reasons.SUCCESS
        far = behind_proxy(broker.port(), header("192.0.2.7"))
        assert far.login(client_id="far").reason == reasons.NOT_AUTHORIZED
        proxy = behind_proxy(broker.port(), header("192.0.2.7", command=0x20))
        assert proxy.login(client_id="proxy").reason == reasons.SUCCESS


def test_a_proxy_in_listeners_of_tls(folder: Path) -> None:
    with live(tls_listener(folder, more=PROXIED)) as broker:
        context = client_context(folder / "ca.pem")
        exchange(behind_proxy(broker.port(), header("127.0.0.1"), context))


def test_without_a_header_or_trust_the_connection_is_closed() -> None:
    with live(FROM_AFAR) as broker:
        client = RawClient.to(broker.port())
        client.send(Connect("c"))
        assert client.read() is None
    with live(FROM_AFAR + 'proxies = ["192.0.2.0/24"]') as broker:
        client = behind_proxy(broker.port(), b"")
        assert client.read() is None


def test_each_listener_has_its_own_rules_and_limits() -> None:
    text = """
[[listener]]
port = 0
[listener.limits]
packet_size = 200
[[listener]]
port = 0
host = "127.0.0.2"
anonymous = "never"
"""
    with live(text) as broker:
        client = RawClient.to(broker.port(0))
        answer = client.login(client_id="c")
        assert answer.properties is not None
        assert answer.properties.maximum_packet_size == 200
        other = RawClient(socket.create_connection(("127.0.0.2", broker.port(1)), PATIENCE))
        assert other.login(client_id="d").reason == reasons.NOT_AUTHORIZED
