"""What a back end is: given one login, it says yes, no, or that it is not for it to say.

A plug-in is a class like those beside this file: a callable in the entry point group
`gossamer.authenticators` that takes the table of its options and returns a `Backend`.
"""

from gossamer.broker.policy import Verdict
from gossamer.wire.reasons import BAD_USER_NAME_OR_PASSWORD


class Attempt:
    """One login as it came. `user` and `password` are None where CONNECT had none."""

    __slots__ = ("address", "certificate_user", "client_id", "listener", "password", "user")

    def __init__(
        self,
        client_id: str,
        user: str | None = None,
        password: bytes | None = None,
        address: str = "",
        listener: str = "",
        certificate_user: str = "",
    ) -> None:
        self.client_id = client_id
        self.user = user
        self.password = password
        self.address = address
        self.listener = listener
        self.certificate_user = certificate_user


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
