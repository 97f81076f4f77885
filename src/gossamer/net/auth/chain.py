"""Asks back ends in order; the first that has an opinion decides. An error is a no."""

import logging
from collections.abc import Sequence

from gossamer.broker.policy import Verdict
from gossamer.net.auth.backend import Attempt, Backend, refusal
from gossamer.wire.reasons import NOT_AUTHORIZED, SERVER_UNAVAILABLE, SUCCESS

logger = logging.getLogger(__name__)

NEEDS_NAME = "a user name and a password are required"
ONLY_LOCAL = "only clients on this machine are accepted: no login is configured"


class Chain:
    """The login of one listener. `anonymous` is `never`, `local` or `always`.

    Where `proves_names` is set, a name that no back end vouches for is refused; elsewhere names
    mean nothing, and a client that gives one comes in as nobody.
    """

    def __init__(self, backends: Sequence[Backend], anonymous: str, proves_names: bool) -> None:
        self._backends = tuple(backends)
        self._anonymous = anonymous
        self._proves_names = proves_names

    def check_quickly(self, attempt: Attempt) -> Verdict | None:
        """The verdict, if it can be had without waiting; else None, and `check` must be called."""
        for backend in self._backends:
            if backend.is_slow:
                return None
            verdict = _ask(backend, attempt)
            if verdict is not None:
                return verdict
        return self._without_a_name(attempt)

    def check(self, attempt: Attempt) -> Verdict:
        """The verdict, from a worker thread."""
        for backend in self._backends:
            verdict = _ask(backend, attempt)
            if verdict is not None:
                return verdict
        return self._without_a_name(attempt)

    def _without_a_name(self, attempt: Attempt) -> Verdict:
        claims = attempt.user is not None or attempt.password is not None
        if claims and self._proves_names:
            return refusal()
        if self._anonymous == "always" or (self._anonymous == "local" and _is_here(attempt)):
            return Verdict(SUCCESS)
        return Verdict(NOT_AUTHORIZED, text=NEEDS_NAME if self._proves_names else ONLY_LOCAL)


def _ask(backend: Backend, attempt: Attempt) -> Verdict | None:
    try:
        return backend.check(attempt)
    except Exception:
        logger.exception("authentication back end %s failed; the login is refused", backend.name)
        return Verdict(SERVER_UNAVAILABLE, text="authentication is unavailable")


def _is_here(attempt: Attempt) -> bool:
    address = attempt.address.removeprefix("::ffff:")
    return address == "" or address == "::1" or address.startswith("127.")
