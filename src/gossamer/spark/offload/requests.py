"""Asks a broker what it wants computed, and goes on listening, on a thread of its own.

A broker that restarts tells again what its subscribers want. Who does not come back within the time
after which a broker forgets an operator is not waited for any longer.
"""

import asyncio
import json
import logging
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from gossamer.backoff import Backoff
from gossamer.broker.offload import ANSWER, KEY_PROPERTY, WANTED
from gossamer.broker.operators import LINGER_SECONDS
from gossamer.net.client import Client, Disconnected, Refused
from gossamer.plus.operators.windows import Window
from gossamer.plus.registry import DEFAULT_WINDOWS
from gossamer.spark.sink.publisher import SinkError, client_of
from gossamer.spark.sink.sink_options import SinkOptions
from gossamer.wire.properties import Properties
from gossamer.wire.reasons import UNSPECIFIED_ERROR

logger = logging.getLogger(__name__)

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 5.0


@dataclass(frozen=True)
class WantedOperator:
    key: str  # under which the broker takes answers
    filter: str
    reply: str
    ttl: float
    windows: tuple[tuple[str, float], ...]
    since: float
    patience: float = 0.0  # of the broker with a silent driver; 0 if it waits for ever

    def own_windows(self) -> list[Window]:
        """Those that are not known everywhere."""
        known = {window.keyword for window in DEFAULT_WINDOWS}
        return [Window(name, seconds) for name, seconds in self.windows if name not in known]

    def starting(self) -> str:
        """For the source: what is published from the first subscription on."""
        return datetime.fromtimestamp(self.since, UTC).isoformat()


def read_wanted(payload: bytes) -> WantedOperator:
    """Raises ValueError."""
    try:
        told: dict[str, Any] = json.loads(payload)
        return WantedOperator(
            key=str(told["key"]),
            filter=str(told["filter"]),
            reply=str(told["reply"]),
            ttl=float(told["ttl"]),
            windows=tuple((str(name), float(told["windows"][name])) for name in told["windows"]),
            since=float(told["since"]),
            patience=float(told.get("patience", 0.0)),
        )
    except (KeyError, TypeError, AttributeError) as problem:
        raise ValueError(f"not what a broker tells: {problem!r}") from None


class OffloadRequests:
    """Use it in a `with`; entering waits for the first connection and raises SinkError."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._wanted: dict[str, WantedOperator] = {}
        self._unconfirmed: set[str] = set()  # from before the last connection
        self._confirm_by = 0.0
        self._ready = threading.Event()
        self._problem: str = ""
        self._tries = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None
        self._client: Client | None = None  # while there is a connection
        self._telling: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="offload", daemon=True)

    def __enter__(self) -> "OffloadRequests":
        self._thread.start()
        if not self._ready.wait(self._options.retry_seconds):
            self._problem = self._problem or "no answer"
        if self._problem:
            self.__exit__()
            raise SinkError(f"{self._options.url}: {self._problem}")
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(RuntimeError):  # it has ended by itself, and closed its loop
            self._loop.call_soon_threadsafe(self._cancel)
        self._thread.join()

    def wanted(self) -> dict[str, WantedOperator]:
        """By name; the broker's words, not ours."""
        with self._lock:
            if self._unconfirmed and time.monotonic() > self._confirm_by:
                for name in self._unconfirmed:
                    self._wanted.pop(name, None)
                self._unconfirmed.clear()
            return dict(self._wanted)

    def sign_of_life(self, wanted: WantedOperator) -> None:
        """Tells the broker that a query computes it; what is lost is soon told again."""
        with suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(self._tell, wanted.key)

    def _tell(self, key: str) -> None:
        if self._client is not None:
            task = self._loop.create_task(self._say(self._client, key))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _say(self, client: Client, key: str) -> None:
        about = Properties()
        about.user = [(KEY_PROPERTY, key)]
        with suppress(Disconnected, Refused, OSError):
            await client.publish(ANSWER, b"", properties=about)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _run(self) -> None:
        self._task = self._loop.create_task(self._listen_for_ever())
        try:
            self._loop.run_until_complete(self._task)
        except asyncio.CancelledError:
            pass
        except SinkError as problem:
            self._problem = str(problem)
            self._ready.set()
        finally:
            self._loop.close()

    async def _listen_for_ever(self) -> None:
        while True:
            try:
                await self._listen()
            except Refused as problem:
                raise SinkError(str(problem)) from problem
            except (Disconnected, OSError, TimeoutError) as problem:
                if not self._ready.is_set():
                    self._problem = str(problem) or "no answer"
                logger.warning("%s: %s; trying again", self._options.url, problem)
            await asyncio.sleep(self._tries.pause())

    async def _listen(self) -> None:
        async with client_of(self._options) as client:
            await self._subscribe(client)
            self._tries.reset()
            self._client = client
            try:
                async for message in client.messages():
                    self._hear(message.topic.removeprefix(WANTED), message.payload)
            finally:
                self._client = None

    async def _subscribe(self, client: Client) -> None:
        with self._lock:
            self._unconfirmed = set(self._wanted)
            # A broker looks for idle operators that often, and forgets at the second look.
            self._confirm_by = time.monotonic() + 2 * LINGER_SECONDS
        [reason] = await client.subscribe(WANTED + "#", qos=1)
        if reason >= UNSPECIFIED_ERROR:
            raise SinkError(
                f"{self._options.user or 'a client without a name'} may not answer; the broker "
                f"lists who may in [plus.offload] ({client.reason_string or hex(reason)})"
            )
        self._problem = ""
        self._ready.set()

    def _hear(self, name: str, payload: bytes) -> None:
        with self._lock:
            self._unconfirmed.discard(name)
            if not payload:
                self._wanted.pop(name, None)
                return
            try:
                told = read_wanted(payload)
            except ValueError as problem:
                logger.error("%s: %s", self._options.url, problem)
                return
            known = self._wanted.get(name)
            if known is None or known.key != told.key:
                self._wanted[name] = told
