"""Ctrl-C and SIGTERM as the end of a command, not as an accident in it."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any


async def until_stopped(work: Coroutine[Any, Any, None]) -> bool:
    """Runs ``work``; a signal cancels it. True if that happened.

    The handlers are explicit because a shell that starts a job with ``&`` makes it ignore SIGINT.
    """
    task = asyncio.ensure_future(work)
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        task.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    try:
        await task
    except asyncio.CancelledError:
        if not stopped:
            raise
    return stopped


class InputEnd(asyncio.Protocol):
    """Calls when the standard input ends: whoever holds its other end has gone."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call

    def connection_lost(self, error: Exception | None) -> None:
        self._call()
