"""Coming from mosquitto: every line is accounted for, and the same clients get in."""

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from gossamer.cli.main import run
from gossamer.net.auth.backend import Attempt
from gossamer.net.auth.passwords import PasswordBackend, is_mosquitto_hash, load_passwords
from gossamer.net.config import load
from gossamer.net.migration.mosquitto import migrate
from gossamer.net.resolved_config import read_resolved
from gossamer.wire.reasons import SUCCESS

CONF = """\
# a comment
per_listener_settings false
allow_anonymous false
password_file {folder}/passwd
acl_file {folder}/acl
persistence true
persistence_location {folder}/db/
persistent_client_expiration 14d
max_inflight_messages 0
max_queued_messages 5000
sys_interval 30
log_type all
mount_nothing 3

listener 1883 127.0.0.1
listener 8083
protocol websockets
max_connections 50
http_dir /srv

connection north
address 10.0.0.1
topic # out 1
remote_password sesame
"""
ACL = """\
topic read weather/#
user ann
topic plant/#
topic deny plant/payroll/#
pattern write devices/%u/#
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "acl").write_text(ACL)
    (tmp_path / "passwd").write_text("old:plain\n")
    (tmp_path / "mosquitto.conf").write_text(CONF.format(folder=tmp_path))
    return tmp_path


def test_every_line_is_in_the_report(folder: Path) -> None:
    report = migrate(folder / "mosquitto.conf").report
    told = [line for rows in (report.taken, report.needless, report.missing) for line, _ in rows]
    conf = [line.number for line in told if line.file.name == "mosquitto.conf"]
    lines = CONF.splitlines()
    written = [n for n, text in enumerate(lines, 1) if text and not text.startswith("#")]
    assert sorted(conf) == written
    assert "sesame" not in report.text()


def test_settings_become_ours(folder: Path) -> None:
    done = migrate(folder / "mosquitto.conf")
    assert done.config["limits"] == {
        "session_expiry": 14 * 86_400,
        "inflight": 65_535,
        "queue_messages": 5000,
    }
    assert done.config["store"] == {"kind": "disk", "folder": str(folder / "db" / "gossamer")}
    assert done.config["listener"] == [
        {"kind": "tcp", "host": "127.0.0.1", "port": 1883, "anonymous": "never"},
        {
            "kind": "ws",
            "host": "0.0.0.0",
            "port": 8083,
            "anonymous": "never",
            "limits": {"connections": 50},
        },
    ]
    assert done.rules == [
        {"users": [""], "subscribe": ["weather/#"]},
        {
            "users": ["ann"],
            "subscribe": ["plant/#"],
            "publish": ["plant/#"],
            "deny_subscribe": ["plant/payroll/#"],
            "deny_publish": ["plant/payroll/#"],
        },
        {"publish": ["devices/%u/#"]},
    ]


def test_the_command_writes_a_configuration_that_is_right(folder: Path) -> None:
    out = folder / "out"
    assert run(["migrate", "mosquitto", str(folder / "mosquitto.conf"), "--to", str(out)]) == 0
    read_resolved(load(out / "gossamer.toml"))
    assert tomllib.loads((out / "rules.toml").read_text())["rule"]
    assert "old" in (out / "migration.txt").read_text()
    assert run(["migrate", "mosquitto", str(folder / "mosquitto.conf"), "--to", str(out)]) == 1


@pytest.mark.parametrize(
    ("conf", "listener"),
    [
        ("", {"kind": "tcp", "host": "127.0.0.1", "port": 1883, "anonymous": "always"}),
        ("port 1884\n", {"kind": "tcp", "host": "0.0.0.0", "port": 1884, "anonymous": "never"}),
        (
            "listener 0 /run/m.sock\nallow_anonymous true\n",
            {"kind": "unix", "socket": "/run/m.sock", "anonymous": "always"},
        ),
        (
            "listener 8883\ncertfile /c.pem\nkeyfile /k.pem\ncafile /ca.pem\n"
            "require_certificate true\ntls_version tlsv1.3\n",
            {
                "kind": "tls",
                "host": "0.0.0.0",
                "port": 8883,
                "anonymous": "never",
                "tls": {
                    "certificate": "/c.pem",
                    "key": "/k.pem",
                    "client_ca": "/ca.pem",
                    "client_certificate": "required",
                    "minimum_version": "1.3",
                },
            },
        ),
    ],
    ids=["nothing said", "an old port", "a socket", "mutual TLS"],
)
def test_listeners(tmp_path: Path, conf: str, listener: dict[str, object]) -> None:
    file = tmp_path / "mosquitto.conf"
    file.write_text(conf)
    assert migrate(file).config["listener"] == [listener]


def test_included_files_count(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.conf").write_text("sys_interval 5\n")
    (tmp_path / "mosquitto.conf").write_text(f"include_dir {tmp_path / 'd'}\n")
    assert migrate(tmp_path / "mosquitto.conf").config["sys"] == {"interval": 5}


def test_bad_numbers_are_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mosquitto.conf"
    file.write_text("sys_interval soon\n")
    assert run(["migrate", "mosquitto", str(file), "--to", str(tmp_path / "o")]) == 2
    assert "soon" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("mosquitto_passwd") is None, reason="needs mosquitto_passwd")
@pytest.mark.parametrize("kind", ["sha512-pbkdf2", "sha512"])
def test_mosquittos_own_hashes_log_in(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "passwd"
    made = subprocess.run(
        ["mosquitto_passwd", "-c", "-b", *_flags(kind), str(file), "ann", "sésame"],
        capture_output=True,
        timeout=30,
    )
    if made.returncode:
        pytest.skip(f"this mosquitto_passwd does not write {kind}")
    backend = PasswordBackend(load_passwords(file))
    right = backend.check(Attempt("c", "ann", "sésame".encode(), "127.0.0.1", ""))
    wrong = backend.check(Attempt("c", "ann", b"other", "127.0.0.1", ""))
    assert right is not None
    assert right.reason == SUCCESS
    assert wrong is not None
    assert wrong.reason != SUCCESS


def _flags(kind: str) -> list[str]:
    return ["-H", kind] if kind == "sha512" else []


@pytest.mark.parametrize(
    "text",
    ["", "$7$", "$7$101$c2FsdA==$c2hvcnQ=", "$7$0$c2FsdA==$" + "A" * 86 + "==", "$6$x$y", "$8$a$b"],
)
def test_damaged_hashes_are_none(text: str) -> None:
    assert not is_mosquitto_hash(text)


def test_a_file_of_something_else_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("hello world\nsecond line\n")
    assert run(["migrate", "mosquitto", str(file), "--to", str(tmp_path / "o")]) == 2
    assert "no line of it is a setting of mosquitto.conf" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()
