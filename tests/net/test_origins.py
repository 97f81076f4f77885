"""Web pages and WebSockets: where being here is the login, a page from elsewhere is not let in."""

from pathlib import Path

import pytest

from gossamer.net.config import parse
from gossamer.net.config.reporting import in_force
from gossamer.net.websocket import HandshakePolicy
from tests.support.live import LiveBroker, RawClient, live, live_file

HERE = "127.0.0.1:8083"
FOREIGN = "https://page.example"

CASES = [
    # origins, whether it is guarded, Origin, Host, whether it may connect
    ((), True, "", HERE, True),
    ((), True, FOREIGN, HERE, False),
    ((), True, "null", HERE, False),
    ((), True, "http://127.0.0.1:8083", HERE, True),
    ((), True, "http://127.0.0.1:8080", HERE, False),
    ((), True, "http://localhost:8083", "localhost:8083", True),
    ((), True, "http://LOCALHOST:8083", "localhost:8083", True),
    ((), True, "http://[::1]:8083", "[::1]:8083", True),
    ((), True, "http://localhost:8083", HERE, False),
    # A name that its owner has made point here.
    ((), True, "http://page.example:8083", "page.example:8083", False),
    ((), True, "http://127.0.0.1.page.example:8083", "127.0.0.1.page.example:8083", False),
    ((), True, "http://127.0.0.1:8083@page.example", "127.0.0.1:8083", False),
    ((), True, "http://page.example@127.0.0.1:8083", "127.0.0.1:8083", False),
    ((), True, f"{FOREIGN}, http://127.0.0.1:8083", HERE, False),
    ((), True, "http://[", HERE, False),
    ((), False, FOREIGN, HERE, True),
    ((), False, "null", HERE, True),
    ((FOREIGN,), True, FOREIGN, HERE, True),
    ((FOREIGN,), True, "HTTPS://Page.Example", HERE, True),
    ((FOREIGN,), True, FOREIGN + ":444", HERE, False),
    ((FOREIGN,), False, "https://other.example", HERE, False),
    ((FOREIGN,), False, "", HERE, True),
    (("null",), True, "null", HERE, True),
    (("*",), True, "null", HERE, True),
    (("*",), True, FOREIGN, HERE, True),
]


@pytest.mark.parametrize(("origins", "is_guarded", "origin", "host", "expected"), CASES)
def test_cases(
    origins: tuple[str, ...], is_guarded: bool, origin: str, host: str, expected: bool
) -> None:
    policy = HandshakePolicy(origins=origins, is_guarded=is_guarded)
    assert policy.allows(origin, host) is expected


GUARDED = [
    ("", True),
    ("anonymous = 'local'", True),
    ("anonymous = 'always'", False),
    ("anonymous = 'never'", False),
]


@pytest.mark.parametrize(("text", "expected"), GUARDED)
def test_who_is_let_in_by_address(text: str, expected: bool) -> None:
    config = parse(f"[[listener]]\nkind = 'ws'\n{text}\n")
    assert config.guards_origins(config.listener[0]) is expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "none but its own"),
        ("anonymous = 'always'", "any"),
        ("origins = ['https://a.example', 'null']", "https://a.example, null"),
    ],
)
def test_check_tells_which_pages_may_connect(text: str, told: str) -> None:
    assert f"#   web pages of: {told}" in in_force(parse(f"[[listener]]\nkind = 'ws'\n{text}\n"))


def test_a_password_is_nothing_that_a_page_has(tmp_path: Path) -> None:
    text = f"[[listener]]\nkind = 'ws'\n[auth]\npassword_file = '{tmp_path / 'p'}'\n"
    config = parse(text)
    assert not config.guards_origins(config.listener[0])


def test_a_certificate_is_what_a_browser_shows_for_every_page(tmp_path: Path) -> None:
    text = (
        f"[[listener]]\nkind = 'wss'\n[listener.tls]\ncertificate = '{tmp_path / 'c'}'\n"
        f"key = '{tmp_path / 'k'}'\nclient_ca = '{tmp_path / 'ca'}'\n"
        "client_certificate = 'required'\n"
    )
    config = parse(text)
    assert config.guards_origins(config.listener[0])


def upgrade(broker: LiveBroker, origin: str, index: int = 0) -> tuple[RawClient, bytes]:
    client = RawClient.to(broker.port(index))
    named = f"Origin: {origin}\r\n" if origin else ""
    client.send(
        (
            f"GET /mqtt HTTP/1.1\r\nHost: 127.0.0.1:{broker.port(index)}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: mqtt\r\n{named}\r\n"
        ).encode()
    )
    head = b""
    while b"\r\n\r\n" not in head:
        chunk = client.socket.recv(1)
        if not chunk:
            break
        head += chunk
    return client, head.partition(b"\r\n")[0]


def test_on_a_socket_and_through_a_reload(tmp_path: Path) -> None:
    file = tmp_path / "broker.toml"
    file.write_text("[[listener]]\nkind = 'ws'\nport = 0\n")
    with live_file(file) as broker:
        foreign, status = upgrade(broker, FOREIGN)
        assert status == b"HTTP/1.1 403 Forbidden"
        assert foreign.socket.recv(1000).startswith(b"pages of https://page.example may not")
        for origin in ("", f"http://127.0.0.1:{broker.port()}"):
            assert upgrade(broker, origin)[1] == b"HTTP/1.1 101 Switching Protocols"
        file.write_text(f"[[listener]]\nkind = 'ws'\nport = 0\norigins = ['{FOREIGN}']\n")
        broker.reload()
        assert upgrade(broker, FOREIGN)[1] == b"HTTP/1.1 101 Switching Protocols"
        assert upgrade(broker, "https://other.example")[1] == b"HTTP/1.1 403 Forbidden"


def test_pages_of_any_origin_may_try_to_log_in() -> None:
    with live("[[listener]]\nkind = 'ws'\nport = 0\nanonymous = 'never'\n") as broker:
        assert upgrade(broker, FOREIGN)[1] == b"HTTP/1.1 101 Switching Protocols"
