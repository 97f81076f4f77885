"""How tests wait: they ask until the answer is yes, up to a time that a busy machine never takes.

A pause that is "long enough" instead is too short one day and too long on all others.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 30.0  # seconds, for what takes milliseconds on an idle machine
PAUSE = 0.02

T = TypeVar("T")
Complaint = str | Callable[[], str]  # what is said in vain, or what makes it up then


def eventually(
    question: Callable[[], T | None],
    otherwise: Complaint = "it did not become true in time",
    seconds: float = PATIENCE,
    pause: float = PAUSE,
) -> T:
    """The first answer that is true. A question may assert what has to hold meanwhile."""
    end = time.monotonic() + seconds
    while not (answer := question()):
        assert time.monotonic() < end, _text(otherwise)
        time.sleep(pause)
    return answer


async def soon(
    question: Callable[[], T | None],
    otherwise: Complaint = "it did not become true in time",
    seconds: float = PATIENCE,
) -> T:
    """The same in a coroutine; asked in a thread of its own, so that the event loop goes on."""
    end = time.monotonic() + seconds
    while not (answer := await asyncio.to_thread(question)):
        assert time.monotonic() < end, _text(otherwise)
        await asyncio.sleep(PAUSE)
    return answer


def _text(otherwise: Complaint) -> str:
    return otherwise if isinstance(otherwise, str) else otherwise()
