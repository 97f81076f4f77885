"""What a shell needs of whatever makes its broker's promises last."""

from collections.abc import Callable
from typing import Protocol

from gossamer.storage.errors import StoreError


class Store(Protocol):
    """`SqliteStore`, or `LoneArchive` for a broker that archives and keeps nothing else."""

    def start(
        self,
        committed: Callable[[int], None],
        failed: Callable[[StoreError], None],
        was_read: Callable[[], None],
    ) -> None:
        """Name the callbacks; all are called on the writer's thread."""

    def end_turn(self) -> None:
        """Have written what this turn changed, unless a batch is being written right now."""

    def close(self) -> None:
        """Write everything that is left."""
