"""Cuts links of a mesh at random and restores them, one or two at a time."""

import asyncio
import random
from typing import Final

from gossamer.net.admin.client import AdminError
from gossamer.net.local.mesh import LocalMesh

_LONGEST_CALM: Final = 6.0
_LONGEST_CUT: Final = 4.0


class Cutter:
    def __init__(self, mesh: LocalMesh, seed: int) -> None:
        self.cuts = 0
        self._mesh = mesh
        self._random = random.Random(seed)

    async def run(self) -> None:
        """Until it is cancelled; then `heal` is called for."""
        while True:
            await asyncio.sleep(self._random.random() * _LONGEST_CALM)
            count = self._random.choice((1, 1, 2))
            chosen = self._random.sample(self._mesh.edges, min(count, len(self._mesh.edges)))
            for edge in chosen:
                self.cuts += await self._say(edge, "cut")
            await asyncio.sleep(self._random.random() * _LONGEST_CUT)
            for edge in chosen:
                await self._say(edge, "heal")

    async def heal(self) -> None:
        for edge in self._mesh.edges:
            await self._say(edge, "heal")

    async def _say(self, edge: tuple[int, int], word: str) -> bool:
        """To the broker that dials; False if it has no such link at the moment."""
        near, far = (self._mesh.brokers[number] for number in edge)
        try:
            await asyncio.to_thread(far.admin.call, "POST", f"/v1/mesh/{near.name}/{word}")
        except AdminError:
            far.check()
            return False
        return True
