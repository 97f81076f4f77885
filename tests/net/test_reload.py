"""Reload: certificates, passwords, rules and limits, without dropping a connection; or nothing."""

import os
import signal
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.net.auth.passwords import HASHER, write_entries
from gossamer.net.config import ConfigError
from gossamer.wire import reasons
from gossamer.wire.packets import Disconnect, Pingreq, Pingresp, Publish
from tests.support.certificates import authority, client_context
from tests.support.live import LiveBroker, RawClient, live_file
from tests.support.logs import log_of
from tests.support.polling import PATIENCE, eventually


def write_config(folder: Path, text: str = "") -> Path:
    file = folder / "broker.toml"
    file.write_text("[[listener]]\nport = 0\n" + text)
    return file


def still_there(client: RawClient) -> None:
    client.send(Pingreq())
    client.expect(Pingresp)


def login(broker: LiveBroker, user: str, password: bytes, client_id: str = "") -> RawClient:
    client = RawClient.to(broker.port())
    answer = client.login(client_id=client_id or user, username=user, password=password)
    assert answer.reason == reasons.SUCCESS
    return client


def test_passwords_change_for_the_next_login(tmp_path: Path) -> None:
    passwords = tmp_path / "passwords"
    write_entries(passwords, {"ann": HASHER.hash("old")})
    file = write_config(tmp_path, '[auth]\npassword_file = "passwords"')
    with live_file(file) as broker:
        ann = login(broker, "ann", b"old")
        write_entries(passwords, {"ann": HASHER.hash("new")})
        broker.reload()
        still_there(ann)
        refused = RawClient.to(broker.port())
        assert refused.login(client_id="x", username="ann", password=b"old").reason != 0
        login(broker, "ann", b"new", "second").close()


def test_a_user_who_is_removed_is_disconnected(tmp_path: Path) -> None:
    passwords = tmp_path / "passwords"
    known = {"ann": HASHER.hash("a"), "bob": HASHER.hash("b")}
    write_entries(passwords, known)
    file = write_config(tmp_path, '[auth]\npassword_file = "passwords"')
    with live_file(file) as broker:
        ann, bob = login(broker, "ann", b"a"), login(broker, "bob", b"b")
        write_entries(passwords, {"ann": known["ann"]})
        broker.reload()
        assert bob.expect(Disconnect).reason == reasons.NOT_AUTHORIZED
        still_there(ann)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"broker.toml": "[limits]\nsubscriptions = 0"}, "limits.subscriptions = 0"),
        ({"rules.toml": "[[rule]]\npublish = ['#/a']"}, "rule[1].publish[1]"),
        ({"passwords": "ann"}, "line 1"),
        ({"passwords": "ann", "rules.toml": "x"}, "not TOML"),
    ],
)
def test_a_wrong_file_is_refused_whole(tmp_path: Path, changes: dict[str, str], said: str) -> None:
    write_entries(tmp_path / "passwords", {"ann": HASHER.hash("a")})
    (tmp_path / "rules.toml").write_text("[[rule]]\nsubscribe = ['a']")
    file = write_config(
        tmp_path, '[auth]\npassword_file = "passwords"\n[permissions]\nfile = "rules.toml"'
    )
    with live_file(file) as broker:
        (tmp_path / "rules.toml").write_text("[[rule]]\nsubscribe = ['b']")
        for name, text in changes.items():
            (tmp_path / name).write_text(text)
        with pytest.raises(ConfigError) as caught:
            broker.reload()
        assert said in str(caught.value)
        ann = login(broker, "ann", b"a")
        assert ann.subscribe("a", "b") == [0, reasons.NOT_AUTHORIZED]


def test_rights_change_for_live_sessions(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("[[rule]]\npublish = ['#']\nsubscribe = ['#']")
    file = write_config(tmp_path, '[permissions]\nfile = "rules.toml"')
    with live_file(file) as broker:
        reader = RawClient.to(broker.port())
        reader.login(client_id="reader")
        assert reader.subscribe("a/#", "b/#", "$share/g/c") == [0, 0, 0]
        writer = RawClient.to(broker.port())
        writer.login(client_id="writer")
        writer.publish("a/1")
        assert reader.expect(Publish).topic == "a/1"
        rules.write_text(
            "[[rule]]\npublish = ['a/#', 'c', 'done']\nsubscribe = ['b/#', 'c', 'done']"
        )
        broker.reload()
        assert broker.ask(lambda: list(broker.broker.core.sessions["reader"].subscriptions)) == [
            "b/#",
            "$share/g/c",
        ]
        assert reader.subscribe("done") == [0]
        for topic in ("a/2", "b/2", "c", "done"):  # the first may be sent, the second not read
            writer.publish(topic)
        assert [reader.expect(Publish).topic for _ in range(2)] == ["c", "done"]


def test_listeners_come_and_go(tmp_path: Path) -> None:
    file = write_config(tmp_path)
    with live_file(file) as broker:
        old = RawClient.to(broker.port())
        old.login(client_id="old")
        file.write_text("[[listener]]\nkind = 'ws'\nport = 0")
        old_port = broker.port()
        broker.reload()
        still_there(old)
        assert [one.listener.kind for one in broker.listeners.listeners] == ["ws"]
        with pytest.raises(OSError, match="."):
            RawClient.to(old_port)
        taken = broker.port()
        file.write_text(
            f"[[listener]]\nkind = 'ws'\nport = 0\n[[listener]]\nport = {taken}\n"
            "[limits]\nsubscriptions = 1"
        )
        with pytest.raises(ConfigError, match="cannot listen"):
            broker.reload()
        assert [one.listener.kind for one in broker.listeners.listeners] == ["ws"]
        assert old.subscribe("a", "b") == [0, 0]


def test_certificates_change_for_the_next_handshake(tmp_path: Path) -> None:
    ca = authority().write(tmp_path)
    authority().issue(tmp_path, "server", "first")
    file = tmp_path / "broker.toml"
    file.write_text(
        "[[listener]]\nkind = 'tls'\nport = 0\n[listener.tls]\n"
        "certificate = 'server.pem'\nkey = 'server.key'"
    )

    def served(client: RawClient) -> str:
        assert isinstance(client.socket, ssl.SSLSocket)
        certificate = client.socket.getpeercert()
        assert certificate is not None
        return str(certificate["subject"])

    with live_file(file) as broker:
        port = broker.port()
        before = RawClient.to(port, context=client_context(ca))
        before.login(client_id="before")
        assert "first" in served(before)
        authority().issue(tmp_path, "server", "second")
        broker.reload()
        after = RawClient.to(port, context=client_context(ca))
        assert "second" in served(after)
        after.login(client_id="after")
        still_there(after)
        still_there(before)


def test_sighup_and_sigterm(tmp_path: Path) -> None:
    file = write_config(tmp_path, "[store]\nkind = 'memory'\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "gossamer", "serve", "--config", str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        port = int(process.stdout.readline().rpartition(":")[2])
        client = RawClient.to(port)
        client.login(client_id="c")
        write_config(tmp_path, "[store]\nkind = 'memory'\n[limits]\nsubscriptions = 1")
        process.send_signal(signal.SIGHUP)
        assert any("is in force" in line for line in process.stderr)
        fresh = RawClient.to(port)
        fresh.login(client_id="fresh")
        assert fresh.subscribe("a", "b") == [0, reasons.QUOTA_EXCEEDED]
        file.write_text("[limits]\nsubscriptons = 1")
        process.send_signal(signal.SIGHUP)
        assert "did you mean subscriptions?" in process.stderr.readline()
        still_there(client)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        eventually(client.is_closed)
    finally:
        process.kill()
        process.communicate()


def test_the_log_tells_of_a_reload_whoever_asked(tmp_path: Path) -> None:
    file = write_config(tmp_path)
    with live_file(file) as broker, log_of("gossamer.net.listeners") as said:
        broker.reload()
        write_config(tmp_path, "[limits]\nsubscriptions = 0")
        with pytest.raises(ConfigError):
            broker.reload()
    assert said[0] == "reload: the new configuration is in force"
    assert said[1].startswith("reload refused, the old configuration stays: ")


def test_the_limit_of_operators_stays_and_what_needs_a_restart_is_told(tmp_path: Path) -> None:
    file = write_config(tmp_path, "[plus]\noperators = 1")
    with live_file(file) as broker:
        broker.reload()
        client = login(broker, "ann", b"")
        assert client.subscribe("$COUNT/a/+", "$COUNT/b/+")[1] >= reasons.UNSPECIFIED_ERROR
        write_config(tmp_path, "[plus]\noperators = 1\nttl = 5")
        assert broker.reload() == ["plus has changed, and needs a restart"]
        assert broker.reload() == ["plus has changed, and needs a restart"]


def test_a_rule_whose_meaning_changed_is_named_at_the_start_and_at_a_reload(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("[groups]\nops = ['ann']\n[[rule]]\nusers = ['eve']\ngroups = ['ops']\n")
    file = write_config(tmp_path, "[store]\nkind = 'memory'\n[permissions]\nfile = 'rules.toml'\n")
    named = f"{rules}: rule[1] has users and groups"
    with live_file(file) as broker:
        assert [note.startswith(named) for note in broker.reload()] == [True]
    process = subprocess.Popen(
        [sys.executable, "-m", "gossamer", "serve", "--config", str(file)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        assert named in process.stderr.readline()
    finally:
        process.kill()
        process.communicate()
