"""Reads the configuration again, on SIGHUP or an administrator's word: whole, or refused whole."""

import asyncio
import logging
from contextlib import suppress
from pathlib import Path

from gossamer.net.config import ConfigError
from gossamer.net.listeners import NEEDING_A_RESTART, Listeners
from gossamer.net.resolved_config import load_resolved

logger = logging.getLogger(__name__)


class Reloader:
    """One reload at a time; what comes meanwhile waits."""

    def __init__(self, listeners: Listeners, file: Path | None) -> None:
        self._listeners = listeners
        self._file = file
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    async def reload(self) -> list[str]:
        """Notes on what needs a restart; ConfigError, and the old configuration stays.

        The log has it either way.
        """
        try:
            notes = await self._reload()
        except ConfigError as error:
            for problem in error.problems:
                logger.error("reload refused, the old configuration stays: %s", problem)
            raise
        for note in notes:
            logger.warning("reload: %s", note)
        logger.info("reload: the new configuration is in force")
        return notes

    def on_signal(self) -> None:
        task = asyncio.get_running_loop().create_task(self._reload_quietly())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reload(self) -> list[str]:
        if self._file is None:
            raise ConfigError(
                ["the broker was started without --config: there is nothing to reload"]
            )
        async with self._lock:
            # Files may be on a slow disk: the event loop goes on meanwhile.
            resolved = await asyncio.to_thread(load_resolved, self._file)
            kept = {key: getattr(self._listeners.config, key) for key in NEEDING_A_RESTART}
            notes = await self._listeners.reload(resolved)
            # What needs a restart stays as it is, so that the next reload still tells of it.
            self._listeners.config = self._listeners.config.model_copy(update=kept)
            return notes

    async def _reload_quietly(self) -> None:
        with suppress(ConfigError):
            await self.reload()
