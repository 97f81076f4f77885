"""The broker's end of one worker process."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from typing import Any, Final

from gossamer.vision.settings import WorkerSettings
from gossamer.vision.worker_protocol import (
    HEADER,
    MAX_ANSWER_BYTES,
    WorkerFrameError,
    frame,
    read_message,
)

# Importing OpenCV and loading models takes a second; a loaded machine takes its time.
START_SECONDS: Final = 60.0

# Each library would start a thread for every core at once.
ONE_THREAD: Final = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class WorkerGone(Exception):
    """The process has ended or does not keep to the rules; it must be replaced."""


class WorkerProcess:
    """Made by `start`. Whoever made it calls `end`."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.failed: dict[str, str] = {}  # processors that did not start, and why
        self.weak: list[str] = []  # what this system cannot take from a worker

    @classmethod
    async def start(cls, places: dict[str, str], settings: WorkerSettings) -> WorkerProcess:
        """Waits until it is ready. Raises WorkerGone, TimeoutError or OSError."""
        # Whatever the broker can import, its workers can, however it was started.
        paths = os.pathsep.join(path for path in sys.path if path)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gossamer.vision.worker"),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": paths},
            start_new_session=True,  # Ctrl-C is for the broker
        )
        worker = cls(process)
        try:
            told = {"settings": settings.to_json(), "processors": places}
            ready = await worker.ask(told, b"", START_SECONDS)
            worker.failed = {str(key): str(why) for key, why in ready.get("failed", {}).items()}
            worker.weak = [str(what) for what in ready.get("weak", [])]
        except BaseException:
            await worker.end()
            raise
        return worker

    async def ask(self, message: dict[str, Any], payload: bytes, seconds: float) -> dict[str, Any]:
        """Its answer. Raises WorkerGone or TimeoutError, after which it is of no more use."""
        return await asyncio.wait_for(self._ask(message, payload), seconds)

    async def end(self) -> None:
        if self._process.returncode is None:
            try:
                self._process.kill()
            except ProcessLookupError:
                pass
        # An answer that nobody read would keep its pipe open, and `wait` waits for that too.
        assert self._process.stdout is not None
        await self._process.stdout.read()
        await self._process.wait()

    async def _ask(self, message: dict[str, Any], payload: bytes) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.writelines(frame(message, payload))
            await stdin.drain()
            length, size = HEADER.unpack(await stdout.readexactly(HEADER.size))
            if length + size > MAX_ANSWER_BYTES:
                raise WorkerGone(f"an answer of {length + size} bytes")
            return read_message(await stdout.readexactly(length))
        except (asyncio.IncompleteReadError, OSError):
            code = await self._process.wait()
            raise WorkerGone(f"it ended with code {code}") from None
        except WorkerFrameError as error:
            raise WorkerGone(f"its answer is {error}") from None
