"""A plain broker loads nothing that only others need: that is memory and time of every start.

What runs is a real `gossamer serve` whose interpreter lists its imports.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import PATIENCE_SECONDS, scrubbed

# Each with the part that needs it, which imports it where it is configured.
HEAVY = {
    "argon2": "a password file",
    "cryptography": "tokens (JWT)",
    "jwt": "tokens (JWT)",
    "prometheus_client": "the admin API",
    "websockets": "WebSocket listeners",
    "http.client": "the client of the admin API",
    "typer": "command lines that are not plain",
    "pydantic": "the document of the admin API",
    "numpy": "image processing",
    "pyarrow": "the archive",
    "opentelemetry": "traces",
    "tarfile": "the installation of models",
    "email": "the library that reads entry points",
    "rich": "tables of the laboratory",
}

IMPORTED = re.compile(r"^import time: .*\| +([\w.]+)$", re.MULTILINE)


def imports_of(*arguments: str) -> set[str]:
    """Of a broker that starts and stops, since its standard input is at its end."""
    told = subprocess.run(
        [
            *(sys.executable, "-X", "importtime", "-m", "gossamer", "serve"),
            *("--port", "0", "--with-parent", *arguments),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=scrubbed(),
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert "gossamer listens on" in told.stdout, told.stderr[-500:]
    return set(IMPORTED.findall(told.stderr))


@pytest.mark.parametrize("is_durable", [False, True], ids=["in memory", "on disk"])
def test_a_plain_broker_starts_without_what_others_need(is_durable: bool, tmp_path: Path) -> None:
    where = ("--data", str(tmp_path / "data")) if is_durable else ("--memory",)
    imported = imports_of(*where)
    assert "gossamer.net.server" in imported
    assert not {f"{name}, for {part}" for name, part in HEAVY.items() if name in imported}
