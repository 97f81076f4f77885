"""What `gossamer serve` says at its start: where it listens, who gets in, where its data is."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import scrubbed

pytestmark = pytest.mark.processes

PASSWORDS = "[auth]\npassword_file = 'passwords'\n"
LISTENER = "[[listener]]\nport = 0\n"

SAID = [
    (LISTENER, ["gossamer lets in: clients of this machine without a login"]),
    (LISTENER + 'anonymous = "always"\n', ["gossamer lets in: anybody without a login"]),
    (LISTENER + 'anonymous = "never"\n', ["gossamer lets in: nobody"]),
    (LISTENER + PASSWORDS, ["gossamer lets in: who logs in by password"]),
    (
        LISTENER + LISTENER.replace("]]", ']]\nkind = "ws"\nanonymous = "local"') + PASSWORDS,
        [
            "gossamer lets in at tcp://127.0.0.1:0: who logs in by password",
            "gossamer lets in at ws://127.0.0.1:0: who logs in by password, "
            "and clients of this machine without a login",
        ],
    ),
]


@pytest.mark.parametrize(("text", "expected"), SAID)
def test_who_starts_a_broker_is_told_what_it_does(
    text: str, expected: list[str], tmp_path: Path
) -> None:
    (tmp_path / "passwords").write_text("")
    config = tmp_path / "broker.toml"
    config.write_text(text)
    data = tmp_path / "data"
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "gossamer", "serve", "--with-parent"),
            *("--config", str(config), "--data", str(data)),
        ],
        env=scrubbed(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line.strip())
            if line.startswith("gossamer keeps"):
                break
        process.send_signal(signal.SIGTERM)
    assert lines[0].startswith("gossamer listens on tcp://127.0.0.1:")
    assert [line for line in lines if "lets in" in line] == expected
    assert any(line.startswith("gossamer 0.") and " runs " in line for line in lines)
    assert lines[-1] == f"gossamer keeps its data in {data}"
