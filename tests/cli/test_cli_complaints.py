"""What goes wrong is said in one line that names it and the way out, with the right exit code."""

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.cli import main
from gossamer.cli.connection_options import ClientOptions
from gossamer.net.auth.scram import Verifier
from tests.support.certificates import authority
from tests.support.live import live_file
from tests.support.processes import PATIENCE_SECONDS, command, running_broker

WRONG = [
    (["serve", "--port", "70000"], "--port"),
    (["serve", "--port", "-1"], "--port"),
    (["serve", "--sync", "maybe"], "--sync must be one of full, normal, off, not 'maybe'"),
    (["serve", "--config", "missing.toml"], "missing.toml: cannot be read"),
    (["demo", "--port", "65536"], "--port"),
    (["torture", "--sync", "maybe"], "--sync must be one of full, normal, off, not 'maybe'"),
    (["mesh", "--topology", "circle"], "--topology must be one of"),
    (
        ["sub", "-t", "a", "--events", "enter"],
        "add --area FILE, --place NAME, or --at with --within",
    ),
    (["sub"], "add -t FILTER"),
    (["sub", "-t", "a/#/b"], "filter 'a/#/b'"),
    (["sub", "-t", "a", "-F", "%z"], "-F has no field %z"),
    (["pub", "-m", "x"], "add -t TOPIC"),
    (["pub", "-t", "a"], "-m TEXT"),
    (["pub", "-t", "a/+", "-m", "x"], "topic 'a/+'"),
    (["pub", "-t", "a", "-m", "x", "--at", "91,0"], "latitude '91'"),
    (["pub", "-t", "a", "-m", "x", "--at", "here"], "LAT,LON"),
    (["pub", "-t", "a", "-m", "x", "-V", "6"], "5 and 311"),
    (["pub", "-t", "a", "-m", "x", "-L", "http://here"], "unknown scheme"),
    (["sub", "-t", "a", "--scram"], "add -u USER and -P PASSWORD"),
    (["sub", "-t", "a", "--scram", "-u", "a", "-P", "b", "-V", "311"], "--scram needs MQTT 5"),
    (["passwd", "passwords", "a:b"], "a user name is"),
    (["passwd", "passwords", "ann"], "--stdin"),
]
FAILING = [
    (["ctl", "sessions", "--token-file", "missing"], "--token-file"),
    (["ctl", "sessions"], "enabled = true in [admin]"),
    (["console"], "enabled = true in [admin]"),
    (["store", "check", "--data", "missing"], "--data"),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_wrong_use(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main.run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert said in shown.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("arguments", "said"), FAILING)
def test_failure(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("GOSSAMER_ADMIN_TOKEN", raising=False)
    assert main.run(arguments) == 1
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 1
    assert said in shown.err


@pytest.mark.parametrize("scheme", ["ws", "wss", "mqtt", "mqtts"])
def test_the_user_in_a_url_logs_in_and_the_password_is_never_shown(scheme: str) -> None:
    wish = ClientOptions(url=f"{scheme}://ann:p%40ss@broker:1234")
    wish.read_url()
    assert (wish.username, wish.password) == ("ann", "p@ss")
    assert wish.place == f"{scheme}://broker:1234"


@contextmanager
def closing_at_once() -> Iterator[int]:
    """A port where every connection is closed when its first bytes have come."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    peer, _ = server.accept()
                except OSError:
                    return
                with peer:
                    peer.recv(1000)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def complaint(*arguments: str) -> str:
    done = subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    return done.stderr


def test_a_peer_that_closes_without_a_word() -> None:
    with closing_at_once() as port:
        assert "--cafile" in complaint("sub", "-p", str(port), "-t", "a")
        said = complaint("sub", "-p", str(port), "--tls", "-t", "a")
        assert "no TLS" in said
        assert "leave --tls and --cafile out" in said


def test_a_certificate_that_nobody_trusts_or_of_another_name(tmp_path: Path) -> None:
    signer = authority()
    certificate, key = signer.issue(tmp_path, "localhost")
    trusted = str(signer.write(tmp_path))
    tls = f'[listener.tls]\ncertificate = "{certificate}"\nkey = "{key}"\n'
    file = tmp_path / "broker.toml"
    file.write_text(f'[[listener]]\nkind = "tls"\nport = 0\n{tls}')
    with live_file(file) as broker:
        port = str(broker.port())
        assert "--cafile" in complaint("sub", "-h", "localhost", "-p", port, "--tls", "-t", "a")
        assert "--insecure" in complaint("sub", "-p", port, "--cafile", trusted, "-t", "a")


def test_a_port_in_use() -> None:
    with running_broker() as port:
        said = complaint("serve", "--memory", "--port", str(port))
        assert "Address already in use" in said
        assert "--port" in said


def test_the_admin_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        file = tmp_path / "broker.toml"
        admin = f'[admin]\nenabled = true\nport = {port}\ntoken_file = "token"\n'
        file.write_text(f'[[listener]]\nport = 0\n[store]\nkind = "memory"\n{admin}')
        done = subprocess.run(
            command("serve", "-c", str(file)),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
    assert done.returncode == 1
    said = f"127.0.0.1:{port}: Address already in use; name another port in [admin]\n"
    assert done.stderr.endswith(said)


def test_scram_logs_in_and_a_wrong_password_is_told(tmp_path: Path) -> None:
    (tmp_path / "verifiers").write_text(f"ann:{Verifier.of('sesame')}\n")
    file = tmp_path / "broker.toml"
    file.write_text('[[listener]]\nport = 0\n[auth]\nscram_file = "verifiers"\n')
    with live_file(file) as broker:
        who = ("-p", str(broker.port()), "-t", "a", "-E", "--scram", "-u", "ann", "-P")
        done = subprocess.run(command("sub", *who, "sesame"), timeout=PATIENCE_SECONDS)
        assert done.returncode == 0
        assert "not authorized" in complaint("sub", *who, "guess")
