"""One confined worker process beside each Python process of an executor.

Strangers' images are opened where the broker opens them: in a process that has given up files and
sockets, with limits on time, memory and pixels. What an image can cost is its own answer.
"""

import asyncio
from functools import lru_cache
from typing import Any, Final

from gossamer.plus.publication import PROCESSOR_FAILED, TIMED_OUT
from gossamer.vision.models import models_folder
from gossamer.vision.registry import load
from gossamer.vision.settings import WorkerSettings
from gossamer.vision.worker_process import WorkerGone, WorkerProcess
from gossamer.vision.worker_protocol import TOLD

Answer = tuple[bytes | None, str | None]  # or the reason why there is none

_PROPERTIES: Final[dict[str, Any]] = {}


class ProcessorUnusable(RuntimeError):
    """It cannot run on this executor at all, whatever the image; the text says why."""


class ExecutorWorker:
    """Starts its process with the first image, and another after one that cost it."""

    def __init__(self, keyword: str, place: str, settings: WorkerSettings) -> None:
        self._keyword = keyword
        self._place = place
        self._settings = settings
        self._loop = asyncio.new_event_loop()
        self._process: WorkerProcess | None = None

    def answer(self, topic: str, payload: bytes) -> Answer:
        return self._loop.run_until_complete(self._answer(topic, payload))

    async def _answer(self, topic: str, payload: bytes) -> Answer:
        process = self._process or await self._start()
        self._process = process
        message = {"topic": topic, "properties": _PROPERTIES, "keywords": [self._keyword]}
        try:
            said = await process.ask(message, payload, self._settings.seconds)
        except (TimeoutError, WorkerGone) as mishap:
            self._process = None
            await process.end()
            return None, TIMED_OUT if isinstance(mishap, TimeoutError) else PROCESSOR_FAILED
        found = _text(said, "answers", self._keyword)
        if found is not None:
            return found.encode(), None
        reason = _text(said, "reasons", self._keyword)
        return None, reason if reason in TOLD else PROCESSOR_FAILED

    async def _start(self) -> WorkerProcess:
        try:
            process = await WorkerProcess.start({self._keyword: self._place}, self._settings)
        except (WorkerGone, TimeoutError, OSError) as problem:
            raise ProcessorUnusable(
                f"no worker for ${self._keyword} starts on this executor: {problem}"
            ) from problem
        if process.failed:
            await process.end()
            why = process.failed[self._keyword]
            raise ProcessorUnusable(f"${self._keyword} does not start on this executor: {why}")
        return process


@lru_cache(maxsize=8)
def worker_for(keyword: str, place: str, settings: WorkerSettings | None) -> ExecutorWorker:
    """The one of this Python process. Without settings, models are where this machine has them."""
    known = settings or WorkerSettings(str(models_folder()))
    trouble = load(place).trouble(known)
    if trouble:
        raise ProcessorUnusable(f"${keyword} cannot run on this executor: {trouble}")
    return ExecutorWorker(keyword, place, known)


def _text(said: dict[str, Any], table: str, keyword: str) -> str | None:
    """Of what a worker said; it is not believed to keep to its words."""
    found = said.get(table)
    text = found.get(keyword) if isinstance(found, dict) else None
    return text if isinstance(text, str) else None
