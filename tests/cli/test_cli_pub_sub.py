"""``gossamer pub`` and ``gossamer sub`` as processes, with a real broker between them."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.net.local.ports import free_port
from tests.support.live import live_file
from tests.support.processes import PATIENCE_SECONDS, command, running_broker, stop


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with running_broker() as number:
        yield number


def run(port: int, *arguments: str, text: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        command(arguments[0], "-p", str(port), *arguments[1:]),
        input=text,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
    )


def publish(port: int, *arguments: str, text: bytes = b"") -> None:
    done = run(port, "pub", *arguments, text=text)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


class Subscriber:
    """``gossamer sub`` that is known to have subscribed: it has printed a retained message."""

    def __init__(self, port: int, topic: str, *arguments: str) -> None:
        publish(port, "-t", topic, "-m", "ready", "-r", "-q", "1")
        self.process = subprocess.Popen(
            command("sub", "-p", str(port), "-t", topic, *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        self.first = self.process.stdout.readline()

    def rest(self) -> bytes:
        out, errors = self.process.communicate(timeout=PATIENCE_SECONDS)
        assert errors == b""
        return out


@pytest.mark.parametrize(("qos", "version"), [("0", "5"), ("1", "311"), ("2", "5"), ("2", "311")])
def test_a_message_goes_through(port: int, qos: str, version: str) -> None:
    topic = f"through/{qos}/{version}"
    subscriber = Subscriber(port, topic, "-q", qos, "-V", version, "-C", "2")
    publish(port, "-t", topic, "-m", "hello", "-q", qos, "-V", version)
    assert subscriber.first == b"ready\n"
    assert subscriber.rest() == b"hello\n"
    assert subscriber.process.returncode == 0


def test_sources_of_a_message(port: int, tmp_path: Path) -> None:
    (tmp_path / "payload").write_bytes(b"\x00\xff")
    subscriber = Subscriber(port, "sources", "-C", "7", "-F", "%x %l", "-q", "1")
    publish(port, "-t", "sources", "-f", str(tmp_path / "payload"), "-q", "1")
    publish(port, "-t", "sources", "-l", "-q", "1", text=b"one\ntwo\r\nthree")
    publish(port, "-t", "sources", "-s", "-q", "1", text=b"a\nb\n")
    publish(port, "-t", "sources", "-n", "-q", "1")
    assert subscriber.rest().decode().split("\n")[:-1] == [
        "00ff 2",
        *(f"{word.hex()} {len(word)}" for word in (b"one", b"two", b"three", b"a\nb\n")),
        " 0",
    ]


def test_json_has_what_the_message_had(port: int) -> None:
    subscriber = Subscriber(port, "as/json", "--json", "-C", "2")
    publish(
        port, "-t", "as/json", "-m", "hé", "-q", "0", "--content-type", "text/plain",
        "--user-property", "room=1=2", "--expiry", "100", "--correlation", "c7",
        "--response-topic", "answers",
    )  # fmt: skip
    message = json.loads(subscriber.rest())
    assert (message["topic"], message["payload"], message["qos"]) == ("as/json", "hé", 0)
    assert message["payloadlen"] == 3
    assert message["properties"]["content-type"] == "text/plain"
    assert message["properties"]["user-properties"] == [["room", "1=2"]]
    assert message["properties"]["correlation-data"] == "c7"
    assert message["properties"]["response-topic"] == "answers"


def test_many_lines_keep_their_order(port: int) -> None:
    lines = b"".join(b"%d\n" % number for number in range(1000))
    subscriber = Subscriber(port, "lines", "-C", "1001", "-q", "1")
    publish(port, "-t", "lines", "-l", "-q", "1", text=lines)
    assert subscriber.rest() == lines


def test_verbose_and_filtered_out(port: int) -> None:
    publish(port, "-t", "retained/a", "-m", "1", "-r", "-q", "1")
    publish(port, "-t", "retained/b", "-m", "2", "-r", "-q", "1")
    done = run(port, "sub", "-t", "retained/#", "-T", "retained/a", "-v", "-C", "1", "-W", "30")
    assert (done.returncode, done.stdout) == (0, b"retained/b 2\n")


def test_a_url_says_it_all(port: int) -> None:
    publish(port, "-L", f"mqtt://127.0.0.1:{port}/by/url", "-m", "1", "-r", "-q", "1")
    done = run(port, "sub", "-L", f"mqtt://127.0.0.1:{port}/by/url", "-C", "1", "-W", "30")
    assert (done.returncode, done.stdout) == (0, b"1\n")


@pytest.mark.parametrize("scheme", ["unix://", "unix:"])
def test_a_unix_socket_by_its_url(scheme: str, tmp_path: Path) -> None:
    file = tmp_path / "broker.toml"
    file.write_text('[[listener]]\nkind = "unix"\nsocket = "b"\n[store]\nkind = "memory"\n')
    with live_file(file):
        url = f"{scheme}{tmp_path}/b"
        for asked in (
            ("pub", "-t", "a", "-m", "1", "-r", "-q", "1"),
            ("sub", "-t", "a", "-C", "1"),
        ):
            done = subprocess.run(
                command(asked[0], "-L", url, *asked[1:]),
                capture_output=True,
                timeout=PATIENCE_SECONDS,
            )
            assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"1\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_subscriber_cleanly(port: int, number: int) -> None:
    subscriber = Subscriber(port, f"stopped/{number}")
    assert stop(subscriber.process, number) == 0
    assert subscriber.rest() == b""


def test_time_over_is_a_failure_only_before_the_count(port: int) -> None:
    done = run(port, "sub", "-t", "silent", "-W", "0.2")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    done = run(port, "sub", "-t", "silent", "-W", "0.2", "-C", "3")
    assert done.returncode == 1
    assert b"3 messages are missing" in done.stderr


def test_a_reader_with_enough_ends_the_subscriber_quietly(port: int) -> None:
    subscriber = Subscriber(port, "enough")
    assert subscriber.process.stdout is not None
    subscriber.process.stdout.close()
    publish(port, "-t", "enough", "-m", "more", "-q", "1")
    assert subscriber.process.wait(PATIENCE_SECONDS) == 0
    assert subscriber.process.stderr is not None
    assert subscriber.process.stderr.read() == b""
    subscriber.process.stderr.close()


def test_a_refused_filter_is_told_with_the_brokers_words(port: int) -> None:
    done = run(port, "sub", "-t", "$GT;warm/a", "-W", "30")
    assert done.returncode == 1
    assert done.stderr.startswith(b"gossamer: the broker refused the filter $GT;warm/a: ")
    assert done.stderr.count(b"\n") == 1


def test_no_broker_is_one_line_and_exit_code_1() -> None:
    done = run(free_port(), "pub", "-t", "a", "-m", "b")
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1
    assert b"cannot reach mqtt://127.0.0.1:" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["pub", "-m", "x"], "-t TOPIC"),
        (["pub", "-t", "a"], "-m TEXT"),
        (["pub", "-t", "a", "-m", "x", "-n"], "exactly one"),
        (["pub", "-t", "a/+", "-m", "x"], "topic 'a/+'"),
        (["pub", "-t", "a", "-m", "x", "-V", "6"], "-V 6"),
        (["pub", "-t", "a", "-m", "x", "-q", "3"], "-q"),
        (["pub", "-t", "a", "-f", "no/such/file"], "no/such/file"),
        (["pub", "-t", "a", "-m", "x", "-c"], "-i ID"),
        (["pub", "-t", "a", "-m", "x", "-V", "311", "--expiry", "3"], "MQTT 5"),
        (["pub", "-t", "a", "-m", "x", "--user-property", "zork"], "NAME=VALUE"),
        (["pub", "-t", "a", "-m", "x", "--cafile", "no/such/file"], "TLS files"),
        (["pub", "-L", "mqtt:///a", "-m", "x"], "no host"),
        (["sub"], "-t FILTER"),
        (["sub", "-t", "a/#/b"], "filter 'a/#/b'"),
        (["sub", "-t", "a", "-v", "--json"], "choose one"),
        (["sub", "-t", "a", "-F", "%Q"], "%Q"),
        (["sub", "-t", "a", "-C", "0"], "-C"),
    ],
)
def test_wrong_use_says_what_to_do(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from gossamer.cli.main import run as run_command

    assert run_command(arguments) == 2
    shown = capsys.readouterr().err
    assert words in shown
    assert shown.count("\n") == 1
