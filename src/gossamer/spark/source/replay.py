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

from gossamer.archive.client import (
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
from gossamer.archive.replay_protocol import DENIED, FAILED, REFUSED, UNTRUSTED
from gossamer.backoff import Patience

logger = logging.getLogger(__name__)

T = TypeVar("T")

# What to do about answers that another try does not change.
_WAYS_OUT: Final = {
    REFUSED: ": see the options user, password and token",
    DENIED: ": narrow the option filter, or have its topics permitted",
    UNTRUSTED: ": name its authority in the option caFile",
}


class SourceError(Exception):
    """A query cannot go on; the text says which broker and what to do."""


def _wait(patience: Patience, problem: ReplayError) -> None:
    """Until the next try; raises SourceError if there is none."""
    passing = isinstance(problem, Unreachable) or problem.code == FAILED
    if not passing:
        raise SourceError(f"{problem}{_WAYS_OUT.get(problem.code, '')}") from problem
    pause = patience.pause(time.monotonic())
    if pause is None:
        tried = f" (tried for {patience.seconds:g} s)" if patience.seconds else ""
        raise SourceError(
            f"no archive at {problem}{tried}: start the broker, with an [archive], or correct "
            "the option brokers"
        ) from problem
    logger.warning("%s; trying again in %.1f s", problem, pause)
    time.sleep(pause)


def patiently(ask: Callable[[], T], seconds: float) -> T:
    patience = Patience(seconds)
    while True:
        try:
            return ask()
        except ReplayError as problem:
            _wait(patience, problem)


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
                patience.reset()
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
            _wait(patience, problem)
