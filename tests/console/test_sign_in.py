"""The gate: nothing without the token, and nothing for foreign names and origins."""

import http.client
import socket
import subprocess
from urllib.parse import urlencode, urlsplit

import pytest

from gossamer.cli.main import run
from gossamer.console.settings import is_loopback
from gossamer.console.sign_in import IDLE_SECONDS, MOST_KEYS, SignIns, TooManyTries
from tests.support.browser import PATIENCE

UPGRADE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}
SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"


def test_a_key_is_given_for_the_token_and_ends() -> None:
    sign_ins = SignIns("the-token")
    assert sign_ins.sign_in("wrong", "1.2.3.4", 0.0) is None
    key = sign_ins.sign_in(" the-token\n", "1.2.3.4", 0.0)
    assert key is not None
    assert sign_ins.holds(key, IDLE_SECONDS)
    assert sign_ins.holds(key, 2 * IDLE_SECONDS)
    assert not sign_ins.holds(key, 4 * IDLE_SECONDS)
    assert not sign_ins.holds("", 0.0)


def test_guessing_is_slowed_and_keys_are_few() -> None:
    sign_ins = SignIns("the-token")
    first = sign_ins.sign_in("the-token", "::1", 0.0)
    assert first is not None
    for number in range(MOST_KEYS):
        assert sign_ins.sign_in("the-token", "::1", 1.0 + number)
    assert not sign_ins.holds(first, 100.0)
    for _ in range(10):
        assert sign_ins.sign_in("guess", "1.2.3.4", 200.0) is None
    with pytest.raises(TooManyTries):
        sign_ins.sign_in("guess", "1.2.3.4", 200.0)
    assert sign_ins.sign_in("the-token", "1.2.3.4", 200.0)


def test_a_link_signs_in_once() -> None:
    sign_ins = SignIns("the-token", "the-code")
    assert sign_ins.sign_in_once("the-token", "::1", 0.0) is None
    key = sign_ins.sign_in_once("the-code", "::1", 0.0)
    assert key is not None
    assert sign_ins.holds(key, 1.0)
    assert sign_ins.sign_in_once("the-code", "::1", 0.0) is None
    assert sign_ins.sign_in_once("", "::1", 0.0) is None, "what is spent is not the empty code"


def test_without_a_code_no_link_signs_in() -> None:
    sign_ins = SignIns("the-token")
    for _ in range(10):
        assert sign_ins.sign_in_once("", "1.2.3.4", 0.0) is None
    with pytest.raises(TooManyTries):
        sign_ins.sign_in_once("", "1.2.3.4", 0.0)


def ask(
    address: str, method: str, path: str, headers: dict[str, str], body: str | None = None
) -> http.client.HTTPResponse:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    response.read()
    return response


@pytest.mark.parametrize("path", ["/", "/topics", "/_nicegui/auto/static/nicegui.js", "/nothing"])
def test_without_a_key_there_is_only_the_form(address: str, path: str) -> None:
    response = ask(address, "GET", path, {})
    assert (response.status, response.headers["location"]) == (303, "/sign-in")


def test_the_socket_is_behind_the_gate_too(address: str) -> None:
    assert ask(address, "GET", SOCKET, UPGRADE).status == 403


def test_foreign_names_and_origins_are_refused(address: str, token: str) -> None:
    assert ask(address, "GET", "/sign-in", {"Host": "rebound.example"}).status == 421
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    body = urlencode({"token": token})
    foreign = {**form, "Origin": "http://elsewhere.example"}
    assert ask(address, "POST", "/sign-in", foreign, body).status == 403
    response = ask(address, "POST", "/sign-in", form, body)
    assert response.status == 303
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    signed_in = {"Cookie": cookie.split(";")[0]}
    assert ask(address, "GET", "/", signed_in).status == 200
    foreign = {**UPGRADE, **signed_in, "Origin": "http://elsewhere.example"}
    assert ask(address, "GET", SOCKET, foreign).status == 403
    assert ask(address, "POST", "/sign-out", signed_in).status == 303
    assert ask(address, "GET", "/", signed_in).status == 303


def test_the_link_that_was_printed_signs_in_once(
    address: str, console_process: tuple[str, "subprocess.Popen[str]"]
) -> None:
    process = console_process[1]
    assert process.stdout is not None
    link = process.stdout.readline().split()[-1]
    assert link.startswith(f"{address}/sign-in?code=")
    path = link.removeprefix(address)
    response = ask(address, "GET", path, {})
    assert response.status == 303
    signed_in = {"Cookie": response.headers["set-cookie"].split(";")[0]}
    assert ask(address, "GET", "/", signed_in).status == 200
    assert ask(address, "GET", path, {}).status == 403


def test_who_is_local() -> None:
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "x")] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_a_port_that_is_taken_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_ADMIN_TOKEN", "a-token-for-the-tests")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["console", "--port", str(port)]) == 1
    assert f"cannot listen on 127.0.0.1:{port}" in capsys.readouterr().err
