"""What a back end is (given one login, it says yes, no, or that it is not for it to say), and the
chain that asks them in order: the first that has an opinion decides, and an error is a no.

A plug-in is a class like those beside this file: a callable in the entry point group
`gossamer.authenticators` that takes the table of its options and returns a `Backend`.
"""

import logging
from collections.abc import Sequence
from typing import NamedTuple

from gossamer.broker.policy import Verdict
from gossamer.wire.reasons import (
    BAD_USER_NAME_OR_PASSWORD,
    NOT_AUTHORIZED,
    SERVER_UNAVAILABLE,
    SUCCESS,
)

logger = logging.getLogger(__name__)

NEEDS_NAME = "a user name and a password are required"
ONLY_LOCAL = "only clients on this machine are accepted: no login is configured"


class Attempt(NamedTuple):
    """One login as it came. `user` and `password` are None where CONNECT had none."""

    client_id: str
    user: str | None = None
    password: bytes | None = None
    address: str = ""
    listener: str = ""
    certificate_user: str = ""


class Backend:
    """Base of all back ends. One that takes longer than a millisecond says that it is slow."""

    name = "backend"
    is_slow = True  # then `check` is called from a worker thread, never from the event loop

    def check(self, attempt: Attempt) -> Verdict | None:
        """A verdict, or None if the next back end should be asked. What it raises is a no."""
        raise NotImplementedError


def refusal(text: str = "") -> Verdict:
    """A no that tells a stranger nothing about which half of the login was wrong."""
    return Verdict(BAD_USER_NAME_OR_PASSWORD, text=text)


class CertificateBackend(Backend):
    """Login by client certificate: TLS has verified it, and its common name is the user."""

    name = "certificate"
    is_slow = False

    def check(self, attempt: Attempt) -> Verdict | None:
        if not attempt.certificate_user:
            return None
        if attempt.user and attempt.user != attempt.certificate_user:
            return refusal("the user name is not the certificate's")
        return Verdict(SUCCESS, attempt.certificate_user)


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
            if (verdict := _ask(backend, attempt)) is not None:
                return verdict
        return self._without_a_name(attempt)

    def check(self, attempt: Attempt) -> Verdict:
        """The verdict, from a worker thread."""
        for backend in self._backends:
            if (verdict := _ask(backend, attempt)) is not None:
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
