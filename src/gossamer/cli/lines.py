"""Standard input line by line, for a command that also has a network to look after."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator

READ_SIZE = 65_536

# The reader waits when this many lines are not taken yet.
LINES_AHEAD = 1000


async def lines_of(descriptor: int) -> AsyncIterator[bytes]:
    """The lines without their ends; the last one counts even if it has no end.

    A thread reads, because not every file can be watched by an event loop. It reads past Python's
    buffers, whose locks would keep a command from ending while nothing is typed.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes | None] = asyncio.Queue(LINES_AHEAD)

    def read() -> None:
        rest = b""
        try:
            while chunk := os.read(descriptor, READ_SIZE):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    asyncio.run_coroutine_threadsafe(queue.put(line), loop).result()
            for last in [rest, None] if rest else [None]:
                asyncio.run_coroutine_threadsafe(queue.put(last), loop).result()
        except RuntimeError:
            return  # the loop has ended, and the command with it

    threading.Thread(target=read, daemon=True).start()
    while (line := await queue.get()) is not None:
        yield line.removesuffix(b"\r")
