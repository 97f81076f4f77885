"""A real broker process on a data folder that outlives it."""

import asyncio
import signal
import sys
from pathlib import Path
from typing import Final

from gossamer.net.local.ports import free_ports

START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 30.0


class BrokerDied(Exception):
    """The broker ended by itself, or did not come up: that is a fault too."""


class BrokerProcess:
    """One broker: started, killed and started again on the same port and folder."""

    def __init__(self, folder: Path, sync: str) -> None:
        self.port = free_ports(1)[0]
        self.url = f"mqtt://127.0.0.1:{self.port}"
        self._arguments = ["--port", str(self.port), "--data", str(folder), "--sync", sync]
        self._log = folder / "broker.log"
        folder.mkdir(parents=True, exist_ok=True)
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "gossamer", "serve", *self._arguments, stdout=log, stderr=log
            )
        try:
            async with asyncio.timeout(START_SECONDS):
                while not await self._listens():
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise BrokerDied(f"the broker did not come up: {self._last_words()}") from None

    async def kill(self) -> None:
        """As the power cut does it: without a word."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """As the administrator does it."""
        await self._end(signal.SIGTERM)

    async def _end(self, number: signal.Signals) -> None:
        process = self._process
        if process is None:
            return
        self._check_alive(process)
        process.send_signal(number)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise BrokerDied("the broker did not stop when it was asked to") from None
        finally:
            self._process = None

    async def _listens(self) -> bool:
        process = self._process
        assert process is not None
        self._check_alive(process)
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        writer.close()
        return True

    def _check_alive(self, process: asyncio.subprocess.Process) -> None:
        if process.returncode is not None:
            self._process = None
            raise BrokerDied(
                f"the broker ended by itself ({process.returncode}): {self._last_words()}"
            )

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()
        return lines[-1] if lines else "it said nothing"
