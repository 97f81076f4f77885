"""The demonstration begins at once, from the sources; meanwhile the core is compiled, and the
brokers change over to it one by one. Sessions are on disk, and neighbours keep what is for a broker
that is away, so nothing at QoS 1 is lost.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gossamer.net.local.mesh import LocalMesh

# What runs from its sources where compiled modules may lie beside them: see `gossamer/pure.py`.
FROM_SOURCES: Final = "GOSSAMER_PURE"
LOOK_SECONDS: Final = 0.25
LOWEST_PRIORITY: Final = 19  # the city goes first


class CoreBuild:
    """The compiler, in a process of its own; what it says is in a file."""

    def __init__(self, script: Path, folder: Path) -> None:
        self.log = folder / "core-build.log"
        self._script = script
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(self._script), "--require"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_step_back,
            )

    def result(self) -> int | None:
        """Its exit code; None while it is at work."""
        return None if self._process is None else self._process.poll()

    def stop(self) -> None:
        """What is half done is done again the next time: nothing of it is in place."""
        process = self._process
        if process is not None and process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _step_back() -> None:
    os.nice(LOWEST_PRIORITY)


async def change_over(build: CoreBuild, mesh: LocalMesh, say: Callable[[str], None]) -> None:
    """Ends when all brokers run what was compiled, or when it is said that they cannot."""
    started = time.monotonic()
    while (result := build.result()) is None:
        await asyncio.sleep(LOOK_SECONDS)
    if result:
        say(f"The core could not be compiled: see {build.log}. All goes on from the sources.")
        return
    took = time.monotonic() - started
    os.environ.pop(FROM_SOURCES, None)  # processes that are started from now on
    for broker in mesh.brokers:
        await asyncio.to_thread(broker.stop)
        broker.start()
        await asyncio.to_thread(mesh.wait)
    say(f"The core was compiled in {took:.0f} s, and the brokers have changed over to it, in turn.")
