"""What keeps rows from being published."""

import ssl
from typing import Final

from gossamer.wire.reasons import BAD_USER_NAME_OR_PASSWORD, NOT_AUTHORIZED

# What to do about answers that another try does not change.
_WAYS_OUT: Final = {
    BAD_USER_NAME_OR_PASSWORD: ": see the options user and password",
    NOT_AUTHORIZED: ": see the options user and password, and the broker's permissions",
}


class SinkError(Exception):
    """They cannot be; the text says where and why."""


class Broken(OSError):
    """The connection was lost on the way: worth another try."""


def refused(url: str, text: str, reason: int) -> SinkError:
    """The broker said no, with this reason code."""
    return SinkError(f"{url}: {text}{_WAYS_OUT.get(reason, '')}")


def untrusted(url: str, problem: ssl.SSLCertVerificationError) -> SinkError:
    """Another try would not change it."""
    return SinkError(
        f"the certificate of {url} is not trusted: {problem.verify_message}: name its authority "
        "in the option caFile"
    )
