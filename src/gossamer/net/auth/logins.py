"""The core's authenticator: quick answers at once, slow ones from worker threads, later.

Each listener has its own chain. Failed logins are counted by address; past the allowed rate even
the right password must wait, so that guessing is slow and costs us no hash.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from gossamer.broker.policy import Authenticator, Exchange, Origin, Step, Verdict
from gossamer.broker.rates import AddressRates
from gossamer.net.auth.backend import Attempt
from gossamer.net.auth.chain import Chain
from gossamer.net.auth.scram import METHOD, ScramExchange, Verifier
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

LONGEST_NAME_SHOWN = 64  # a stranger may choose one of 65,535 bytes
# For the log, where a stranger is told nothing.
WORDS = {
    BAD_USER_NAME_OR_PASSWORD: "wrong user name or password",
    NOT_AUTHORIZED: "not authorized",
}

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


class Logins(Authenticator):
    """`post` hands a call from a worker thread to the loop's, where `deliver` is called."""

    def __init__(
        self,
        rules: LoginRules,
        failures: AddressRates,
        workers: int,
        post: Post,
        deliver: Deliver,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rules = rules
        self.failures = failures
        self._post = post
        self._deliver = deliver
        self._clock = clock
        self._closed = False
        self._waiting = 0
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="login")

    def close(self) -> None:
        """No verdict comes after this."""
        self._closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)

    def authenticate(self, token: int, connect: Connect, origin: Origin) -> Verdict | None:
        if not self.may_try(origin.address):
            return Verdict(CONNECTION_RATE_EXCEEDED, text="too many failed logins; try later")
        chain = self.rules.chains.get(origin.listener)
        if chain is None:  # a reload has closed the listener since
            return Verdict(SERVER_UNAVAILABLE)
        attempt = Attempt(
            client_id=connect.client_id,
            user=connect.username,
            password=connect.password,
            address=origin.address,
            listener=origin.listener,
            certificate_user=origin.certificate_user,
        )
        verdict = chain.check_quickly(attempt)
        if verdict is not None:
            return self.judged(attempt, verdict)
        if self._waiting >= self.rules.most_waiting:
            return Verdict(SERVER_BUSY, text="too many logins at once; try later")
        self._waiting += 1
        future = self._pool.submit(chain.check, attempt)
        future.add_done_callback(lambda done: self._hand_over(token, attempt, done))
        return None

    def may_try(self, address: str) -> bool:
        """False for an address that has failed too often."""
        return self.failures.has(address, self._clock())

    def begin_exchange(self, method: str, origin: Origin) -> Exchange | None:
        if method != METHOD or origin.listener not in self.rules.scram_listeners:
            return None
        if not self.may_try(origin.address):
            return _Refusing()
        return _Judged(ScramExchange(self.rules.verifiers), self, origin)

    def _hand_over(self, token: int, attempt: Attempt, done: "Future[Verdict]") -> None:
        if not self._closed:
            self._post(lambda: self._finished(token, attempt, done))

    def _finished(self, token: int, attempt: Attempt, done: "Future[Verdict]") -> None:
        self._waiting -= 1
        if done.cancelled() or self._closed:
            return
        error = done.exception()
        if error is not None:
            logger.error("a login ended with %r; it is refused", error)
        verdict = Verdict(SERVER_UNAVAILABLE) if error is not None else done.result()
        self._deliver(token, self.judged(attempt, verdict))

    def judged(self, attempt: Attempt, verdict: Verdict) -> Verdict:
        """The verdict; a no counts against the address, and the log names who it was."""
        if verdict.reason not in (SUCCESS, SERVER_UNAVAILABLE):
            self.failures.allows(attempt.address, self._clock())
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


def _who(attempt: Attempt) -> str:
    client = f"client {attempt.client_id[:LONGEST_NAME_SHOWN]!r}"
    return (
        client if attempt.user is None else f"{client}, user {attempt.user[:LONGEST_NAME_SHOWN]!r}"
    )


class _Judged(Exchange):
    """An exchange whose failure counts against the address."""

    def __init__(self, inner: ScramExchange, logins: Logins, origin: Origin) -> None:
        self._inner = inner
        self._logins = logins
        self._origin = origin

    def step(self, data: bytes) -> Step:
        step = self._inner.step(data)
        if step.verdict is not None:
            origin = self._origin
            attempt = Attempt("", self._inner.user, None, origin.address, origin.listener)
            self._logins.judged(attempt, step.verdict)
        return step


class _Refusing(Exchange):
    """What an address gets that has failed too often."""

    def step(self, data: bytes) -> Step:
        return Step(
            b"", Verdict(CONNECTION_RATE_EXCEEDED, text="too many failed logins; try later")
        )
