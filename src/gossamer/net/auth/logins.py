"""The core's authenticator: quick answers at once, slow ones from worker threads, later.

Each listener has its own chain. Failed logins are counted by address; past the allowed rate even
the right password must wait, so that guessing is slow and costs us no hash. A check takes its
allowance when it starts and gives it back when the login was right: however many are sent at once,
no more are checked than may fail. Addresses take turns at the threads (`turns.py`).
"""

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from gossamer.broker.policy import Authenticator, AuthStep, Exchange, Origin, Verdict
from gossamer.broker.rates import AddressRates
from gossamer.net.auth.backend import Attempt
from gossamer.net.auth.chain import Chain
from gossamer.net.auth.scram import METHOD, ScramExchange, Verifier
from gossamer.net.auth.turns import Turns
from gossamer.wire.packets import Connect
from gossamer.wire.reasons import (
    BAD_USER_NAME_OR_PASSWORD,
    CONNECTION_RATE_EXCEEDED,
    NOT_AUTHORIZED,
    SERVER_BUSY,
    SERVER_UNAVAILABLE,
    SUCCESS,
)

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

Answer = Callable[[Verdict], None]
Deliver = Callable[[int, Verdict], None]
Post = Callable[[Callable[[], None]], object]


class LoginRules:
    """What a reload replaces: the chain of each listener, and who may log in by SCRAM where."""

    def __init__(
        self,
        chains: dict[str, Chain],
        verifiers: dict[str, Verifier],
        scram_listeners: frozenset[str],
        most_waiting: int,
        names: frozenset[str] = frozenset(),
    ) -> None:
        self.names = names  # all that the password and SCRAM files know
        self.chains = chains
        self.verifiers = verifiers
        self.scram_listeners = scram_listeners
        self.most_waiting = most_waiting


class Waiting:
    """A login that waits for a thread; `is_there` tells whether somebody waits for its verdict."""

    __slots__ = ("answer", "attempt", "chain", "is_there")

    def __init__(
        self, attempt: Attempt, chain: Chain, answer: Answer, is_there: Callable[[], bool]
    ) -> None:
        self.attempt = attempt
        self.chain = chain
        self.answer = answer
        self.is_there = is_there


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
        self._turns: Turns[Waiting] = Turns(rules.most_waiting)
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
            client_id=connect.client_id,
            user=connect.username,
            password=connect.password,
            address=origin.address,
            listener=origin.listener,
            certificate_user=origin.certificate_user,
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
        self._turns.most = max(0, self.rules.most_waiting - self._checking)
        gone = self._turns.put(waiting.attempt.address, waiting)
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
            waiting = self._turns.take()
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
        return len(self._turns)

    def may_try(self, address: str) -> bool:
        """False for an address that has failed too often."""
        return self.failures.has(address, self._clock())

    def reserve(self, address: str) -> bool:
        """Takes the allowance for one check; `judged` gives it back where the login was right."""
        return self.failures.allows(address, self._clock())

    def begin_exchange(self, method: str, origin: Origin) -> Exchange | None:
        if method != METHOD or origin.listener not in self.rules.scram_listeners:
            return None
        if not self.may_try(origin.address):
            return _Refusing()
        return _Judged(ScramExchange(self.rules.verifiers), self, origin)

    def _hand_over(self, waiting: Waiting, done: "Future[Verdict]") -> None:
        if not self._closed:
            self._post(lambda: self._finished(waiting, done))

    def _finished(self, waiting: Waiting, done: "Future[Verdict]") -> None:
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
    return (
        client if attempt.user is None else f"{client}, user {attempt.user[:LONGEST_NAME_SHOWN]!r}"
    )


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
