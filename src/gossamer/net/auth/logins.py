"""The core's authenticator: quick answers at once, slow ones from worker threads, later.

Each listener has its own chain. Failed logins are counted by address; past the allowed rate even
the right password must wait, so that guessing is slow and costs us no hash. A check takes its
allowance when it starts and gives it back when the login was right: however many are sent at once,
no more are checked than may fail.

What waits for the threads has a queue for each address, and the addresses take turns: whoever comes
alone waits for one turn of the others, however many logins one of them has sent. The whole is
bounded. When it is full, the newest of the longest queue gives way, so that a flood pushes out
itself.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from gossamer.broker.policy import Authenticator, AuthStep, Exchange, Origin, Verdict
from gossamer.broker.rates import AddressRates, network_of
from gossamer.net.auth.backend import Attempt, Chain
from gossamer.wire.packets import Connect
from gossamer.wire.reasons import (
    BAD_USER_NAME_OR_PASSWORD,
    CONNECTION_RATE_EXCEEDED,
    NOT_AUTHORIZED,
    SERVER_BUSY,
    SERVER_UNAVAILABLE,
    SUCCESS,
)

if TYPE_CHECKING:
    from gossamer.net.auth.scram import ScramExchange, Verifier

logger = logging.getLogger(__name__)

# Of logins that wait and need no check any more; then the loop has other things to do first.
REFUSALS_A_TURN = 32
LONGEST_NAME_SHOWN = 64  # a stranger may choose one of 65,535 bytes
# Added to the threads' niceness: a hash takes tens of milliseconds of a core, on which the clients
# that are logged in should not wait.
LOWER_PRIORITY = 10
# For the log, where a stranger is told nothing.
WORDS = {
    BAD_USER_NAME_OR_PASSWORD: "wrong user name or password",
    NOT_AUTHORIZED: "not authorized",
}
TOO_MANY_FAILED = "too many failed logins; try later"

T = TypeVar("T")
Answer = Callable[[Verdict], None]
Deliver = Callable[[int, Verdict], None]
Post = Callable[[Callable[[], None]], object]


class FairQueue(Generic[T]):
    """`most` is how many wait in all; the address of an IPv6 host is its network."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._queues: dict[str, deque[T]] = {}  # in the order of their turns
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def put(self, address: str, item: T) -> T | None:
        """Lets it wait. Returns who has to give way for it, which may be itself; None if nobody."""
        key = network_of(address)
        queue = self._queues.get(key)
        if self._count >= self.most:
            longest = max(self._queues, key=lambda one: len(self._queues[one]), default=key)
            if len(self._queues.get(longest, ())) <= (0 if queue is None else len(queue)) + 1:
                return item
            gone = self._queues[longest].pop()
            self._count -= 1
        else:
            gone = None
        if queue is None:
            queue = self._queues[key] = deque()
        queue.append(item)
        self._count += 1
        return gone

    def take(self) -> T | None:
        """The oldest of the address whose turn it is; that address goes to the end of the line."""
        if not self._queues:
            return None
        key = next(iter(self._queues))
        queue = self._queues.pop(key)
        item = queue.popleft()
        self._count -= 1
        if queue:
            self._queues[key] = queue
        return item


class LoginRules(NamedTuple):
    """What a reload replaces: the chain of each listener, and who may log in by SCRAM where."""

    chains: dict[str, Chain]
    verifiers: dict[str, Verifier]
    scram_listeners: frozenset[str]
    most_waiting: int
    names: frozenset[str] = frozenset()  # all that the password and SCRAM files know


class Waiting(NamedTuple):
    """A login that waits for a thread; `is_there` tells whether somebody waits for its verdict."""

    attempt: Attempt
    chain: Chain
    answer: Answer
    is_there: Callable[[], bool]


class Logins(Authenticator):
    """`post` hands a call from a worker thread to the loop's, where `deliver` is called.

    `is_there` tells whether the client of a token still waits for its verdict.
    """

    def __init__(
        self,
        rules: LoginRules,
        failures: AddressRates,
        workers: int,
        post: Post,
        deliver: Deliver,
        is_there: Callable[[int], bool] = lambda token: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rules = rules
        self.failures = failures
        self._post = post
        self._deliver = deliver
        self._clock = clock
        self._is_there = is_there
        self._closed = False
        self._workers = workers
        self._checking = 0  # never more than workers: what waits, waits in its turn
        self._awaited: set[asyncio.Future[Verdict]] = set()
        self._queue: FairQueue[Waiting] = FairQueue(rules.most_waiting)
        self._pool = ThreadPoolExecutor(
            workers, thread_name_prefix="login", initializer=_lower_priority
        )

    def close(self) -> None:
        """No verdict comes after this, but for those who await one."""
        self._closed = True
        for later in self._awaited:
            if not later.done():
                later.set_result(Verdict(SERVER_UNAVAILABLE, text="the broker is stopping"))
        self._pool.shutdown(wait=False, cancel_futures=True)

    def authenticate(self, token: int, connect: Connect, origin: Origin) -> Verdict | None:
        attempt = Attempt(
            connect.client_id,
            connect.username,
            connect.password,
            origin.address,
            origin.listener,
            origin.certificate_user,
        )
        return self._decide(attempt, partial(self._deliver, token), partial(self._is_there, token))

    async def verdict(self, attempt: Attempt) -> Verdict:
        """For those who do not speak MQTT: the same checks, rates and turns."""
        later: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()

        def answer(verdict: Verdict) -> None:
            if not later.done():
                later.set_result(verdict)

        at_once = self._decide(attempt, answer, lambda: not later.done())
        if at_once is not None:
            return at_once
        self._awaited.add(later)
        try:
            return await later
        finally:
            self._awaited.discard(later)

    def _decide(
        self, attempt: Attempt, answer: Answer, is_there: Callable[[], bool]
    ) -> Verdict | None:
        if not self.may_try(attempt.address):
            return Verdict(CONNECTION_RATE_EXCEEDED, text=TOO_MANY_FAILED)
        chain = self.rules.chains.get(attempt.listener)
        if chain is None:  # a reload has closed the listener since
            return Verdict(SERVER_UNAVAILABLE)
        verdict = chain.check_quickly(attempt)
        if verdict is None:
            return self._wait(Waiting(attempt, chain, answer, is_there))
        if _is_failure(verdict):
            self.reserve(attempt.address)
            self.judged(attempt, verdict)
        return verdict

    def _wait(self, waiting: Waiting) -> Verdict | None:
        """None, and the verdict comes later; or that there is no room to wait."""
        self._queue.most = max(0, self.rules.most_waiting - self._checking)
        gone = self._queue.put(waiting.attempt.address, waiting)
        if gone is waiting:
            return _no_room()
        if gone is not None:
            self._post(lambda: gone.answer(_no_room()))
        # Not from here: the broker takes a verdict once it has been told to wait for one.
        self._post(self._start)
        return None

    def _start(self) -> None:
        """Gives the threads what they can take, address by address."""
        for _ in range(REFUSALS_A_TURN):
            if self._checking >= self._workers or self._closed:
                return
            waiting = self._queue.take()
            if waiting is None:
                return
            if not waiting.is_there():
                continue
            if not self.reserve(waiting.attempt.address):
                waiting.answer(Verdict(CONNECTION_RATE_EXCEEDED, text=TOO_MANY_FAILED))
                continue
            self._checking += 1
            future = self._pool.submit(waiting.chain.check, waiting.attempt)
            future.add_done_callback(partial(self._hand_over, waiting))
        self._post(self._start)

    @property
    def waiting(self) -> int:
        """How many logins wait for a thread."""
        return len(self._queue)

    def may_try(self, address: str) -> bool:
        """False for an address that has failed too often."""
        return self.failures.has(address, self._clock())

    def reserve(self, address: str) -> bool:
        """Takes the allowance for one check; `judged` gives it back where the login was right."""
        return self.failures.allows(address, self._clock())

    def begin_exchange(self, method: str, origin: Origin) -> Exchange | None:
        if origin.listener not in self.rules.scram_listeners:
            return None
        from gossamer.net.auth.scram import METHOD, ScramExchange

        if method != METHOD:
            return None
        if not self.may_try(origin.address):
            return _Refusing()
        return _Judged(ScramExchange(self.rules.verifiers), self, origin)

    def _hand_over(self, waiting: Waiting, done: Future[Verdict]) -> None:
        if not self._closed:
            self._post(lambda: self._finished(waiting, done))

    def _finished(self, waiting: Waiting, done: Future[Verdict]) -> None:
        self._checking -= 1
        if done.cancelled() or self._closed:
            return
        error = done.exception()
        if error is not None:
            logger.error("a login ended with %r; it is refused", error)
        verdict = Verdict(SERVER_UNAVAILABLE) if error is not None else done.result()
        waiting.answer(self.judged(waiting.attempt, verdict))
        self._start()

    def judged(self, attempt: Attempt, verdict: Verdict) -> Verdict:
        """The verdict of a check that was reserved; a no has cost that, and the log names who."""
        if not _is_failure(verdict):
            self.failures.give_back(attempt.address)
        else:
            logger.info(
                "login of %s from %s on %s refused: %s",
                _who(attempt),
                attempt.address,
                attempt.listener,
                verdict.text or WORDS.get(verdict.reason) or f"0x{verdict.reason:02x}",
                extra={
                    "client": attempt.client_id[:LONGEST_NAME_SHOWN],
                    "user": (attempt.user or "")[:LONGEST_NAME_SHOWN],
                    "address": attempt.address,
                    "listener": attempt.listener,
                },
            )
        return verdict


def _lower_priority() -> None:
    """Of the calling thread; only Linux has one for each."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        niceness = os.getpriority(os.PRIO_PROCESS, thread)
        os.setpriority(os.PRIO_PROCESS, thread, niceness + LOWER_PRIORITY)


def _is_failure(verdict: Verdict) -> bool:
    return verdict.reason not in (SUCCESS, SERVER_UNAVAILABLE)


def _no_room() -> Verdict:
    return Verdict(SERVER_BUSY, text="too many logins at once; try later")


def _who(attempt: Attempt) -> str:
    client = f"client {attempt.client_id[:LONGEST_NAME_SHOWN]!r}"
    user = attempt.user
    return client if user is None else f"{client}, user {user[:LONGEST_NAME_SHOWN]!r}"


class _Judged(Exchange):
    """An exchange whose failure counts against the address, at each of its steps."""

    def __init__(self, inner: ScramExchange, logins: Logins, origin: Origin) -> None:
        self._inner = inner
        self._logins = logins
        self._origin = origin

    def step(self, data: bytes) -> AuthStep:
        origin = self._origin
        if not self._logins.reserve(origin.address):
            return _Refusing().step(data)
        step = self._inner.step(data)
        attempt = Attempt("", self._inner.user, None, origin.address, origin.listener)
        self._logins.judged(attempt, step.verdict or Verdict())
        return step


class _Refusing(Exchange):
    """What an address gets that has failed too often."""

    def step(self, data: bytes) -> AuthStep:
        return AuthStep(b"", Verdict(CONNECTION_RATE_EXCEEDED, text=TOO_MANY_FAILED))
