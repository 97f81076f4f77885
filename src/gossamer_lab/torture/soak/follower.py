"""Follows the archive of a broker: every offset is there, once, with what was acknowledged."""

import asyncio
from typing import Final

from gossamer.archive.client import Address, Credentials, ReplayError, Request, read
from gossamer_lab.torture.ledger import DeliveryLedger, MessageKey
from gossamer_lab.torture.traffic import PREFIX, READY

_PAUSE_SECONDS: Final = 0.5
_COLUMNS: Final = ("offset", "topic", "payload", "qos")

_Row = tuple[int, str, bytes, int]


class Follower:
    """`name` is what the ledger knows it by. Reads what is new, again and again."""

    def __init__(self, name: str, port: int, ledger: DeliveryLedger) -> None:
        self.offsets = 0  # read, all of them
        self._name = name
        self._address = Address("127.0.0.1", port)
        self._ledger = ledger

    async def run(self) -> None:
        while True:
            await self.catch_up()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def catch_up(self) -> None:
        """To what is there now. The reading is on a thread, the ledger is not."""
        try:
            rows = await asyncio.to_thread(self._read, self.offsets)
        except ReplayError as error:
            self._ledger.fault(f"{self._name} cannot be read from {self.offsets} on: {error}")
            return
        for offset, topic, payload, qos in rows:
            if offset != self.offsets:
                self._ledger.fault(f"{self._name} has offset {offset} after {self.offsets - 1}")
            self.offsets = offset + 1
            if topic.startswith(PREFIX) and not topic.startswith(READY):
                self._ledger.note_received(self._name, MessageKey.of(payload), qos)

    def _read(self, start: int) -> list[_Row]:
        request = Request(["#"], start=start, columns=_COLUMNS)
        rows: list[_Row] = []
        for batch in read(self._address, Credentials(), request):
            rows += zip(*(batch.column(name).to_pylist() for name in _COLUMNS), strict=True)
        return rows
