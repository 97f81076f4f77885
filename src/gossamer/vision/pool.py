"""A few worker processes for the processors of a broker, and a bounded queue before them.

A publication goes to a worker once, with all processors that were asked about it. What finds the
queue full is dropped, and counted as `busy`. A worker that crashes or takes too long costs the
answers about one publication, and is replaced. Workers start when there is work, and end when
there has been none for a while.
"""

import asyncio
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from gossamer.broker.ports import ProcessorPort
from gossamer.plus.jobs import Job
from gossamer.plus.publication import BUSY, PROCESSOR_FAILED, TIMED_OUT, Publication
from gossamer.vision.settings import WorkerSettings
from gossamer.vision.worker_process import WorkerGone, WorkerProcess
from gossamer.vision.worker_protocol import TOLD
from gossamer.wire.properties import Properties

logger = logging.getLogger("gossamer.vision")

# Models take about 150 MB in each worker, which are given back after this time without work.
IDLE_SECONDS: Final = 300.0

# What one publication takes, before it is known, and how much of the newest goes into the mean.
_FIRST_SECONDS: Final = 0.2
_NEWEST_PART: Final = 0.1

# After a worker that could not start, before the next try.
RETRY_SECONDS: Final = 1.0

# A processor that fails at every image is told of no more often than this.
TELL_AGAIN_SECONDS: Final = 60.0

# Those of a publication; the others belong to other packets or to one hop.
PASSED_ON: Final = ("payload_format", "message_expiry", "content_type", "response_topic", "user")


@dataclass(frozen=True)
class PoolLimits:
    workers: int = 2
    queue: int = 100  # publications that wait
    queue_bytes: int = 64 << 20  # of them
    busy_at: float = 0.5  # the part of either that may be in use when another operator is accepted


class Task:
    """One publication, and all jobs about it."""

    __slots__ = ("jobs", "publication")

    def __init__(self, publication: Publication) -> None:
        self.publication = publication
        self.jobs: list[Job] = []


class Pool(ProcessorPort):
    """Lives on the event loop. `answer` is called there, once for each job."""

    def __init__(
        self,
        places: dict[str, str],
        settings: WorkerSettings,
        limits: PoolLimits,
        answer: Callable[[Job, bytes | None], None],
    ) -> None:
        super().__init__()
        self._places = places
        self._settings = settings
        self._limits = limits
        self._answer = answer
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Task] = asyncio.Queue()
        self._queued_bytes = 0
        self._latest: Task | None = None  # to which jobs may still be added
        self._runners: set[asyncio.Task[None]] = set()
        self._idle = 0
        self._told_at: dict[str, float] = {}
        self._is_behind = False
        self._seconds = _FIRST_SECONDS  # that one publication takes, lately

    def busy_seconds(self) -> int:
        """Once behind, it is until half of that is done."""
        limits = self._limits
        waiting = self._queue.qsize()
        used = max(waiting / limits.queue, self._queued_bytes / limits.queue_bytes)
        self._is_behind = used >= limits.busy_at / (2 if self._is_behind else 1) and waiting > 0
        if not self._is_behind:
            return 0
        return max(1, math.ceil(waiting * self._seconds / limits.workers))

    def start(self, job: Job) -> None:
        publication = job.publication
        latest = self._latest
        if latest is not None and latest.publication is publication:
            latest.jobs.append(job)
            return
        size = len(publication.payload)
        limits = self._limits
        if self._queue.qsize() >= limits.queue or self._queued_bytes + size > limits.queue_bytes:
            job.trouble = BUSY
            self.failed += 1
            self._loop.call_soon(self._answer, job, None)
            return
        task = Task(publication)
        task.jobs.append(job)
        self._latest = task
        self._queued_bytes += size
        self._queue.put_nowait(task)
        self.waiting += 1
        # Each idle runner takes one of those that wait; for more, another runner is needed.
        if self._queue.qsize() > self._idle and len(self._runners) < limits.workers:
            runner = self._loop.create_task(self._work())
            self._runners.add(runner)
            runner.add_done_callback(self._runners.discard)

    def tell_weaknesses(self, weak: list[str]) -> None:
        """In which ways workers are less confined than they should be: in the log, and counted."""
        self.weaknesses = len(weak)
        if weak:
            logger.warning("image workers are not fully confined: %s", "; ".join(weak))

    async def close(self) -> None:
        """Ends the workers; what waits is not answered."""
        runners = list(self._runners)
        for runner in runners:
            runner.cancel()
        await asyncio.gather(*runners, return_exceptions=True)

    async def _work(self) -> None:
        """One runner: a worker, and after a mishap another, until there is no more work."""
        runner = asyncio.current_task()
        assert runner is not None
        worker: WorkerProcess | None = None
        try:
            while (task := await self._next()) is not None:
                if worker is None:
                    worker = await self._start_worker()
                if worker is None:
                    self._fail(task, PROCESSOR_FAILED)
                    await asyncio.sleep(RETRY_SECONDS)
                elif not await self._process(worker, task):
                    await worker.end()
                    worker = None
            # Before the next await: whatever comes from now on needs another runner.
            self._runners.discard(runner)
        finally:
            if worker is not None:
                await worker.end()

    async def _next(self) -> Task | None:
        """None after a while without work."""
        self._idle += 1
        try:
            task = await asyncio.wait_for(self._queue.get(), IDLE_SECONDS)
        except TimeoutError:
            if self._queue.empty():
                return None
            task = self._queue.get_nowait()  # it came in the last moment
        finally:
            self._idle -= 1
        self.waiting -= 1
        if self._latest is task:
            self._latest = None
        self._queued_bytes -= len(task.publication.payload)
        return task

    async def _start_worker(self) -> WorkerProcess | None:
        try:
            worker = await WorkerProcess.start(self._places, self._settings)
        except (WorkerGone, TimeoutError, OSError) as error:
            logger.error("a worker for processors cannot start: %s", error or "it takes too long")
            return None
        for keyword, why in worker.failed.items():
            self._tell(keyword, f"does not start: {why}")
        if len(worker.weak) > self.weaknesses:
            self.tell_weaknesses(worker.weak)
        return worker

    async def _process(self, worker: WorkerProcess, task: Task) -> bool:
        """Answers the task's jobs; False if the worker is of no more use."""
        publication = task.publication
        message = {
            "topic": publication.topic,
            "properties": _plain(publication.properties),
            "keywords": [job.processor for job in task.jobs],
        }
        began = self._loop.time()
        try:
            said = await worker.ask(message, publication.payload, self._settings.seconds)
        except TimeoutError:
            logger.warning("an image on %r took too long", publication.topic)
            self._fail(task, TIMED_OUT)
            return False
        except WorkerGone as error:
            logger.warning("an image on %r crashed a worker: %s", publication.topic, error)
            self._fail(task, PROCESSOR_FAILED)
            return False
        self.answered += 1
        self._seconds += (self._loop.time() - began - self._seconds) * _NEWEST_PART
        answers, reasons, complaints = (
            _table(said, name) for name in ("answers", "reasons", "complaints")
        )
        for job in task.jobs:
            reason = reasons.get(job.processor)
            job.trouble = reason if reason in TOLD else PROCESSOR_FAILED
            found = answers.get(job.processor)
            self._answer(job, None if found is None else found.encode())
        for keyword, complaint in complaints.items():
            self._tell(keyword, f"failed on {publication.topic!r}: {complaint}")
        return True

    def _fail(self, task: Task, reason: str) -> None:
        self.failed += 1
        for job in task.jobs:
            job.trouble = reason
            self._answer(job, None)

    def _tell(self, keyword: str, what: str) -> None:
        now = self._loop.time()
        if now - self._told_at.get(keyword, -TELL_AGAIN_SECONDS) >= TELL_AGAIN_SECONDS:
            self._told_at[keyword] = now
            logger.error("the processor $%s %s", keyword, what)


def _plain(properties: Properties | None) -> dict[str, Any]:
    """As JSON can say it."""
    if properties is None:
        return {}
    found = {name: getattr(properties, name) for name in PASSED_ON}
    if properties.correlation_data is not None:
        found["correlation_data"] = properties.correlation_data.hex()
    return {name: value for name, value in found.items() if value not in (None, [])}


def _table(said: dict[str, Any], name: str) -> dict[str, str]:
    """Of what a worker said; it is not believed to keep to its words."""
    table = said.get(name)
    if not isinstance(table, dict):
        return {}
    return {key: value for key, value in table.items() if isinstance(value, str)}
