"""A TCP proxy between two brokers, that can stop the flow, cut it off, and let it go on."""

import asyncio
from contextlib import suppress

_CHUNK = 65_536


class Proxy:
    """Runs on the test's event loop; everything is forwarded until it is told otherwise."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = 0
        self._flows = asyncio.Event()
        self._flows.set()
        self._is_cut = False
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> "Proxy":
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()

    def stop(self) -> None:
        """Connections stay, and carry nothing: a neighbour that does not read."""
        self._flows.clear()

    def resume(self) -> None:
        self._flows.set()

    def cut(self) -> None:
        """Connections break, and new ones are not answered."""
        self._is_cut = True
        for writer in self._writers:
            writer.transport.abort()

    def mend(self) -> None:
        self._is_cut = False

    async def _connected(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        self._writers.add(back)
        try:
            if self._is_cut:
                return
            far, on = await asyncio.open_connection("127.0.0.1", self.target)
            self._writers.add(on)
            async with asyncio.TaskGroup() as pumps:
                pumps.create_task(self._pump(near, on))
                pumps.create_task(self._pump(far, back))
            self._writers.discard(on)
        except OSError:
            pass
        finally:
            back.transport.abort()
            self._writers.discard(back)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while True:
                await self._flows.wait()
                data = await reader.read(_CHUNK)
                if not data:
                    break
                await self._flows.wait()
                writer.write(data)
                await writer.drain()
        writer.transport.abort()
