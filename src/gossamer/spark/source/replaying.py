"""The replay services of brokers, with patience: what fails for a moment is tried again.

Rows of a range are the same however often they are read, so a connection that broke goes on behind
the last row that came.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import pyarrow as pa

from gossamer.storage.archive.client import (
    Address,
    Credentials,
    OffsetsLost,
    ReplayError,
    Request,
    Unreachable,
    describe,
    locate,
    read,
)
from gossamer.storage.archive.frames import DENIED, FAILED, REFUSED, UNTRUSTED

logger = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_PAUSE: Final = 0.1  # seconds; each is twice as long as the one before
LONGEST_PAUSE: Final = 5.0

# What to do about answers that another try does not change.
_WAYS_OUT: Final = {
    REFUSED: ": see the options user, password and token",
    DENIED: ": narrow the option filter, or have its topics permitted",
    UNTRUSTED: ": name its authority in the option caFile",
}


class SourceError(Exception):
    """A query cannot go on; the text says which broker and what to do."""


class Patience:
    """How long to keep trying. Whoever gets something may begin anew."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._pause = FIRST_PAUSE
        self._until: float | None = None

    def renew(self) -> None:
        self._pause = FIRST_PAUSE
        self._until = None

    def wait(self, problem: ReplayError) -> None:
        """Until the next try; raises SourceError if there is none."""
        now = time.monotonic()
        if self._until is None:
            self._until = now + self._seconds
        passing = isinstance(problem, Unreachable) or problem.code == FAILED
        if not passing:
            raise SourceError(f"{problem}{_WAYS_OUT.get(problem.code, '')}") from problem
        if now + self._pause > self._until:
            tried = f" (tried for {self._seconds:g} s)" if self._seconds else ""
            raise SourceError(
                f"no archive at {problem}{tried}: start the broker, with an [archive], or correct "
                "the option brokers"
            ) from problem
        logger.warning("%s; trying again in %.1f s", problem, self._pause)
        time.sleep(self._pause)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)


def patiently(ask: Callable[[], T], seconds: float) -> T:
    patience = Patience(seconds)
    while True:
        try:
            return ask()
        except ReplayError as problem:
            patience.wait(problem)


@dataclass(frozen=True)
class Replay:
    """One broker's archive as it is now: offsets from `earliest` to before `next`."""

    address: Address
    credentials: Credentials
    broker: str
    earliest: int
    next: int
    retry_seconds: float

    def locate(self, micros: int) -> int:
        return patiently(lambda: locate(self.address, self.credentials, micros), self.retry_seconds)


def find_replays(
    addresses: Sequence[Address], credentials: Credentials, retry_seconds: float
) -> dict[str, Replay]:
    """By the brokers' names. Raises SourceError."""
    found: dict[str, Replay] = {}
    for address in addresses:
        told = patiently(lambda at=address: describe(at, credentials), retry_seconds)  # type: ignore[misc]
        name = str(told["broker"])
        if name in found:
            raise SourceError(
                f"{found[name].address} and {address} both call themselves {name!r}: give each "
                "broker a name of its own in [archive]"
            )
        found[name] = Replay(
            address, credentials, name, int(told["earliest"]), int(told["next"]), retry_seconds
        )
    return found


def read_range(
    address: Address,
    credentials: Credentials,
    request: Request,
    retry_seconds: float,
    fails_on_loss: bool,
) -> Iterator[pa.RecordBatch]:
    """The rows, each once. Raises SourceError."""
    columns = request.columns
    if columns is not None and "offset" not in columns:
        request = replace(request, columns=[*columns, "offset"])
    patience = Patience(retry_seconds)
    while True:
        try:
            for batch in read(address, credentials, request):
                last: int = batch.column("offset")[-1].as_py()
                yield batch if columns is None else batch.select(list(columns))
                request = replace(request, start=last + 1)
                patience.renew()
            return
        except OffsetsLost as problem:
            if fails_on_loss:
                raise SourceError(
                    f"{address}: {problem}; the earliest is {problem.earliest}. Start there, or "
                    "set onDataLoss to warn to go on without them"
                ) from problem
            logger.warning("%s: %s; going on without them", address, problem)
            if problem.start > request.start:
                before = replace(request, end=problem.start)
                yield from read_range(address, credentials, before, retry_seconds, fails_on_loss)
            if request.end is None or problem.end >= request.end:
                return
            request = replace(request, start=problem.end)
        except ReplayError as problem:
            patience.wait(problem)
