"""Work for processors: one job for each publication and processor, however many subscribe.

Answers may come in any order; they are released in the order in which the publications of a topic
came, so that an older image never replaces a newer one.
"""

from collections import deque

from gossamer.budget.ledger import Account
from gossamer.plus.publication import PROCESSOR_FAILED, Publication


class Job:
    """`publication` has the topic, payload and properties; `waiting` are the states' keys."""

    def __init__(self, processor: str, publication: Publication) -> None:
        self.processor = processor
        self.publication = publication
        self.waiting: list[str] = []
        self.done = False
        self.answer: bytes | None = None  # None if the processor failed
        self.trouble: str = PROCESSOR_FAILED  # what is counted then


class Jobs:
    def __init__(self, limit: int, account: Account) -> None:
        self._limit = limit
        self.account = account  # of the payloads that wait
        self._pending = 0
        self._new: list[Job] = []
        self._latest: dict[str, Job] = {}  # by processor
        self._queues: dict[tuple[str, str], deque[Job]] = {}  # by processor and topic

    def submit(self, key: str, processor: str, publication: Publication) -> bool:
        """False if too many jobs wait already."""
        latest = self._latest.get(processor)
        if latest is not None and latest.publication is publication:
            latest.waiting.append(key)
            return True
        size = len(publication.payload)
        account = self.account
        if self._pending >= self._limit or account.held + size > account.budget:
            return False
        account.grow(size)
        job = Job(processor, publication)
        job.waiting.append(key)
        self._pending += 1
        self._latest[processor] = job
        self._new.append(job)
        self._queues.setdefault((processor, publication.topic), deque()).append(job)
        return True

    def take_new(self) -> list[Job]:
        """The jobs that came up since the last call. Those of one publication are neighbours."""
        jobs = self._new
        self._new = []
        return jobs

    def finish(self, job: Job, answer: bytes | None) -> list[Job]:
        """The jobs whose turn has come, oldest first; none for a job finished before."""
        if job.done:
            return []
        job.done = True
        job.answer = answer
        self._pending -= 1
        self.account.grow(-len(job.publication.payload))
        if self._latest.get(job.processor) is job:
            del self._latest[job.processor]
        line = (job.processor, job.publication.topic)
        queue = self._queues[line]
        ready: list[Job] = []
        while queue and queue[0].done:
            ready.append(queue.popleft())
        if not queue:
            del self._queues[line]
        return ready
