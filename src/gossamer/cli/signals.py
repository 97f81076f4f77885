"""Ctrl-C and SIGTERM as the end of a command, not as an accident in it."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

# After the input has ended: between asking twice, and for the end that was asked for.
_STOP_PAUSES: Final = (1.0, 20.0)


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


def ignore_signals() -> None:
    """For the rest of a command: what it still does must not be interrupted."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


class InputEnd(asyncio.Protocol):
    """Calls when the standard input ends: whoever holds its other end has gone."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call

    def connection_lost(self, error: Exception | None) -> None:
        self._call()


def end_with_input() -> None:
    """For a command without an event loop: asks it to stop when the standard input ends."""
    threading.Thread(target=_await_input_end, daemon=True).start()


def _await_input_end() -> None:
    # Past the buffer of sys.stdin, whose lock would be missed when the interpreter ends.
    while os.read(0, 4096):
        pass
    for pause in _STOP_PAUSES:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(pause)
    os._exit(1)


@contextmanager
def stopping_on_signals(stop: Callable[[], None], note: Callable[[str], None]) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM ends after the batch, the second at once.

    Set once Spark has started, which installs a handler of its own.
    """

    def end(number: int, frame: FrameType | None) -> None:
        note("finishing the batch; press Ctrl-C again to stop at once")
        stop()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
