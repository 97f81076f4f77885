"""A pool of real workers, asked by keyword and answered as text or as the reason for none."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gossamer.plus.jobs import Job
from gossamer.plus.publication import Publication
from gossamer.vision.pool import Pool, PoolLimits
from gossamer.vision.settings import WorkerSettings
from gossamer.wire.properties import Properties
from tests.support.processors import PLACES

# Nothing is asserted of time; a loaded machine may take long.
PATIENCE = 60.0


class Asking:
    def __init__(self, pool: Pool, answered: dict[int, "asyncio.Future[str]"]) -> None:
        self.pool = pool
        self._answered = answered

    async def ask(
        self,
        payload: bytes | str,
        *keywords: str,
        topic: str = "camera",
        properties: Properties | None = None,
    ) -> list[str]:
        """One answer for each keyword, "!reason" where there is none."""
        data = payload if isinstance(payload, bytes) else payload.encode()
        publication = Publication(topic, data, properties=properties)
        jobs = [Job(keyword, publication) for keyword in keywords]
        futures = [asyncio.get_running_loop().create_future() for _ in jobs]
        for job, future in zip(jobs, futures, strict=True):
            self._answered[id(job)] = future
            self.pool.start(job)
        return list(await asyncio.wait_for(asyncio.gather(*futures), PATIENCE))


@asynccontextmanager
async def asking(
    places: dict[str, str] = PLACES,
    settings: WorkerSettings | None = None,
    limits: PoolLimits | None = None,
) -> AsyncIterator[Asking]:
    answered: dict[int, asyncio.Future[str]] = {}

    def answer(job: Job, found: bytes | None) -> None:
        answered.pop(id(job)).set_result(f"!{job.trouble}" if found is None else found.decode())

    pool = Pool(places, settings or WorkerSettings("."), limits or PoolLimits(workers=1), answer)
    try:
        yield Asking(pool, answered)
    finally:
        await pool.close()
