"""`gossamer passwd` and `gossamer check`, as a person uses them."""

import io
import socket
from pathlib import Path

import pytest

from gossamer.budget.division import MEMORY_SHARE
from gossamer.cli import main
from gossamer.net.auth.backend import Attempt
from gossamer.net.auth.passwords import PasswordBackend, load_passwords
from gossamer.net.auth.scram import load_verifiers


def set_password(
    monkeypatch: pytest.MonkeyPatch, file: Path, user: str, password: str, *options: str
) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(password + "\n"))
    return main.run(["passwd", str(file), user, "--stdin", *options])


def accepts(file: Path, user: str, password: bytes) -> bool:
    verdict = PasswordBackend(load_passwords(file)).check(Attempt("c", user, password))
    return verdict is not None and verdict.reason == 0


def test_a_password_is_set_changed_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "passwords"
    assert set_password(monkeypatch, file, "ann", "first") == 0
    assert set_password(monkeypatch, file, "bob", "other") == 0
    assert set_password(monkeypatch, file, "ann", "second") == 0
    assert accepts(file, "ann", b"second")
    assert not accepts(file, "ann", b"first")
    assert accepts(file, "bob", b"other")
    assert "second" not in file.read_text()
    assert main.run(["passwd", str(file), "ann", "--delete"]) == 0
    assert not accepts(file, "ann", b"second")
    assert main.run(["passwd", str(file), "ann", "--delete"]) == 1
    assert "has no user ann" in capsys.readouterr().err


def test_a_verifier_for_scram(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "verifiers"
    assert set_password(monkeypatch, file, "ann", "secret", "--scram") == 0
    assert list(load_verifiers(file)) == ["ann"]


def test_what_passwd_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "passwords"
    assert set_password(monkeypatch, file, "a:b", "x") == 2
    assert set_password(monkeypatch, file, "ann", "") == 2
    assert not file.exists()
    file.write_text("damaged")
    assert set_password(monkeypatch, file, "ann", "x") == 1
    assert file.read_text() == "damaged"


def test_check_prints_what_will_be_in_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "broker.toml"
    file.write_text("[limits]\nsubscriptions = 7\n")
    assert main.run(["check", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "# listener tcp://127.0.0.1:1883\n#   log in by: none; anonymous: local\n" in shown
    assert "subscriptions = 7\n" in shown


def test_check_names_every_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "broker.toml"
    file.write_text("[limits]\nsubscriptons = 7\ninflight = 0\n")
    assert main.run(["check", str(file)]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"{file}: limits.inflight = 0: must be a whole number, at least 1 and at most 65535",
        f"{file}: limits.subscriptons: unknown key; did you mean subscriptions?",
    ]


NARROWED = """
[groups]
operators = ["ann"]
[[rule]]
users = ["eve"]
groups = ["operators"]
deny_publish = ["safety/#"]
"""


def test_check_names_a_rule_that_speaks_of_fewer_than_it_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rules.toml").write_text(NARROWED)
    file = tmp_path / "broker.toml"
    file.write_text('[permissions]\nfile = "rules.toml"\n')
    assert main.run(["check", "--quiet", str(file)]) == 0
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith(f"warning: {tmp_path / 'rules.toml'}: rule[1] has users and groups")
    (tmp_path / "rules.toml").write_text(NARROWED + 'match = "all"\n')
    assert main.run(["check", "--quiet", str(file)]) == 0
    assert capsys.readouterr().err == ""


def test_check_tells_the_budgets_and_warns_of_more_than_there_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "broker.toml"
    file.write_text('[limits]\nmemory = "1 GiB"\n')
    assert main.run(["check", str(file)]) == 0
    told = capsys.readouterr()
    assert f", {MEMORY_SHARE:.0%} of 1.0 GiB (limits.memory)" in told.out
    assert "# retained_bytes " in told.out
    assert told.err == ""
    file.write_text('[limits]\nmemory = "1 GiB"\nretained_bytes = "3 GiB"\n')
    assert main.run(["check", "--quiet", str(file)]) == 0
    assert "more than there is" in capsys.readouterr().err


CLASHES = [
    ('[[listener]]\nport = 1\n[[listener]]\nport = 1\nkind = "ws"\n', "listener ws://127.0.0.1:1"),
    ('[[listener]]\nport = 1\n[[listener]]\nport = 1\nhost = "0.0.0.0"\n', "tcp://0.0.0.0:1"),
    ("[[listener]]\nport = 1\n[admin]\nenabled = true\nport = 1\n", "[admin]"),
    ('[[listener]]\nport = 1\n[archive]\nfilters = ["#"]\nreplay_port = 1\n', "replay_port"),
]


@pytest.mark.parametrize(("text", "who"), CLASHES)
def test_check_names_ports_that_two_want(
    text: str, who: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "broker.toml"
    file.write_text(text)
    assert main.run(["check", str(file)]) == 2
    told = capsys.readouterr().err
    assert who in told
    assert "port 1 is that of listener tcp://127.0.0.1:1 already" in told


def test_ports_that_do_not_clash(tmp_path: Path) -> None:
    file = tmp_path / "broker.toml"
    file.write_text(
        '[[listener]]\nport = 0\n[[listener]]\nport = 0\nkind = "ws"\n'
        '[[listener]]\nport = 1\n[[listener]]\nport = 1\nhost = "127.0.0.2"\n[admin]\nport = 1\n'
    )
    assert main.run(["check", "-q", str(file)]) == 0


def test_check_says_which_brokers_do_not_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as there, socket.socket() as nowhere:
        nowhere.bind(("127.0.0.1", 0))  # and does not listen
        (tmp_path / "mesh.key").write_text("a key for the tests, long enough\n")
        file = tmp_path / "broker.toml"
        file.write_text(
            '[mesh]\nname = "a"\nkey_file = "mesh.key"\n'
            f'[[mesh.peer]]\nhost = "127.0.0.1"\nport = {there.getsockname()[1]}\n'
            f'[[mesh.stock]]\nname = "b"\nhost = "127.0.0.1"\nport = {nowhere.getsockname()[1]}\n'
        )
        assert main.run(["check", "-q", str(file)]) == 0
        told = capsys.readouterr().err
        assert f"mesh.stock 127.0.0.1:{nowhere.getsockname()[1]}: cannot be reached" in told
        assert "mesh.peer" not in told
        assert main.run(["check", "-q", "--offline", str(file)]) == 0
        assert "cannot be reached" not in capsys.readouterr().err
