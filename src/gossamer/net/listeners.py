"""The broker's listeners with their logins, permissions and limits, opened together and reloaded
together: on SIGHUP or an administrator's word, whole, or refused whole.
"""

import asyncio
import logging
from contextlib import suppress
from pathlib import Path

from gossamer.broker.loop_turns import LOGIN, RELOAD, MeasuredTurn
from gossamer.broker.policy import Verdict
from gossamer.broker.rates import AddressRates
from gossamer.net.auth.logins import Logins
from gossamer.net.config import Config, ConfigError
from gossamer.net.config.limits import Rates
from gossamer.net.config.listeners import Listener
from gossamer.net.connection_limits import AddressLimits, ConnectionCounts, ListenerPolicy
from gossamer.net.listener_socket import OpenListener
from gossamer.net.resolved_config import ResolvedConfig, load_resolved, settings_of
from gossamer.net.turns import Host, name_of
from gossamer.wire.reasons import NOT_AUTHORIZED

logger = logging.getLogger(__name__)

SECONDS_PER_MINUTE = 60.0
# Sections of the configuration that are read at the start only.
NEEDING_A_RESTART = ("store", "archive", "admin", "log", "mesh", "plus", "vision", "trace")


class Listeners:
    """Between the core and the world. `open` once; then `reload` as often as you like."""

    def __init__(self, host: Host, resolved: ResolvedConfig) -> None:
        config = resolved.config
        self._host = host
        self._connection_counts = ConnectionCounts()
        self._addresses = AddressLimits(config.rates)
        self._open: dict[str, OpenListener] = {}
        self.config = config
        self.logins = Logins(
            resolved.logins,
            _failures(config.rates),
            config.auth.workers,
            post=lambda call: host.loop.call_soon_threadsafe(call),
            deliver=self._decided,
            is_there=lambda token: token in host.broker.core.connections,
        )
        host.broker.core.authenticator = self.logins
        self._put_in_force(resolved)

    @property
    def listeners(self) -> list[OpenListener]:
        return list(self._open.values())

    async def open(self, resolved: ResolvedConfig) -> None:
        """Opens every listener, or none and OSError."""
        opened = self._bind(resolved, list(resolved.config.listener))
        await self._accept(resolved, opened)

    async def reload(self, resolved: ResolvedConfig) -> list[str]:
        """Puts another configuration in force; what an operator should know of it is told.

        ConfigError, and nothing has changed, if a new listener cannot be opened.
        """
        wanted = {listener.name: listener for listener in resolved.config.listener}
        kept = {key: getattr(self.config, key) for key in NEEDING_A_RESTART}
        fresh = [listener for name, listener in wanted.items() if name not in self._open]
        try:  # first, since it is all that can still fail
            opened = self._bind(resolved, fresh)
        except OSError as error:
            raise ConfigError(str(error)) from error
        notes = [*resolved.notes, *_needing_a_restart(self.config, resolved.config)]
        if resolved.config.rates != self.config.rates:
            self._addresses = AddressLimits(resolved.config.rates)
            self.logins.failures = _failures(resolved.config.rates)
        withdrawn = self.logins.rules.names - resolved.logins.names
        with MeasuredTurn(self._host.turns, RELOAD):
            self._put_in_force(resolved)
            # What needs a restart stays as it is, so that the next reload still tells of it.
            self.config = resolved.config.changed(**kept)
            self._disconnect(withdrawn)
            for name in [name for name in self._open if name not in wanted]:
                self._open.pop(name).close()
        for name, listener in self._open.items():
            await self._start(listener, resolved, wanted[name])
        await self._accept(resolved, opened)
        return notes

    def close(self) -> None:
        """Accepts no more connections."""
        for listener in self._open.values():
            listener.close()
        self._open.clear()
        self.logins.close()

    def _bind(self, resolved: ResolvedConfig, listeners: list[Listener]) -> list[OpenListener]:
        opened: list[OpenListener] = []
        for listener in listeners:
            try:
                opened.append(OpenListener(self._host, listener, self._policy(resolved, listener)))
            except OSError as error:
                for other in opened:
                    other.close()
                why = error.strerror or str(error)
                raise OSError(f"cannot listen on {listener.name}: {why}") from error
        return opened

    async def _accept(self, resolved: ResolvedConfig, opened: list[OpenListener]) -> None:
        for listener in opened:
            name = listener.listener.name
            self._open[name] = listener
            await self._start(listener, resolved, listener.listener)

    async def _start(
        self, opened: OpenListener, resolved: ResolvedConfig, listener: Listener
    ) -> None:
        context = resolved.contexts.get(listener.name)
        await opened.accept(listener, context, resolved.config.guards_origins(listener))

    def _policy(self, resolved: ResolvedConfig, listener: Listener) -> ListenerPolicy:
        return ListenerPolicy(
            listener.name,
            resolved.settings[listener.name],
            resolved.config.limits_of(listener),
            self._addresses,
            self._connection_counts,
            self._host.broker.core.counters,
            sees_certificates=listener.sees_certificates,
        )

    def _put_in_force(self, resolved: ResolvedConfig) -> None:
        config = resolved.config
        broker = self._host.broker
        self.config = config
        self.logins.rules = resolved.logins
        broker.set_settings(settings_of(config, config.limits))
        for listener in config.listener:
            known = self._open.get(listener.name)
            if known is not None:
                limits = config.limits_of(listener)
                known.policy.change(resolved.settings[listener.name], limits, self._addresses)
        now = self._host.clock.now()
        broker.set_permissions(resolved.permissions, now)
        by = "" if config.mesh is None else config.mesh.name
        broker.set_places(resolved.places, config.geo.places_topic, by, now)

    def _disconnect(self, users: frozenset[str]) -> None:
        """Users whose login is gone must not stay by having come in time."""
        now = self._host.clock.now()
        for connection in list(self._host.broker.core.connections.values()):
            if connection.identity.user in users:
                connection.fail(NOT_AUTHORIZED, "your login was withdrawn", now)
        self._host.after_chunk(now)

    def _decided(self, token: int, verdict: Verdict) -> None:
        connection = self._host.broker.core.connections.get(token)
        with MeasuredTurn(self._host.turns, LOGIN, name_of(connection)):
            now = self._host.clock.now()
            self._host.broker.decide(token, verdict, now)
            self._host.after_chunk(now)


def _failures(rates: Rates) -> AddressRates:
    per_minute = rates.failed_logins_per_minute
    return AddressRates(per_minute / SECONDS_PER_MINUTE, per_minute)


def _needing_a_restart(old: Config, new: Config) -> list[str]:
    changed = [key for key in NEEDING_A_RESTART if getattr(old, key) != getattr(new, key)]
    if old.auth.workers != new.auth.workers:
        changed.append("auth.workers")
    return [f"{key} has changed, and needs a restart" for key in changed]


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
            raise ConfigError("the broker was started without --config: there is nothing to reload")
        async with self._lock:
            # Files may be on a slow disk: the event loop goes on meanwhile.
            resolved = await asyncio.to_thread(load_resolved, self._file)
            return await self._listeners.reload(resolved)

    async def _reload_quietly(self) -> None:
        with suppress(ConfigError):
            await self.reload()
