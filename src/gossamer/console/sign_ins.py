"""Who has signed in: a random key for each browser, given for the right token.

Keys live in memory only, so a restart signs everybody out; there are few at a time, and one that
is not used for a while is worth nothing.
"""

import hmac
import secrets
from typing import Final

from gossamer.broker.rates import AddressRates

IDLE_SECONDS: Final = 12 * 3600.0
MOST_KEYS: Final = 64  # people at one console; the one that was away longest gives way

# Wrong tokens from one address: so many at once, then one every ten seconds. The right one is taken
# all the same: it is too long to be guessed, and others may share its address.
WRONG_TOKENS: Final = 10
WRONG_TOKENS_PER_SECOND: Final = 0.1


class TooManyTries(Exception):
    """A wrong token, from an address that was wrong too often."""


class SignIns:
    """The keys in force. The time is passed in."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._used_at: dict[str, float] = {}
        self._failures = AddressRates(WRONG_TOKENS_PER_SECOND, WRONG_TOKENS)

    def sign_in(self, token: str, address: str, now: float) -> str | None:
        """A new key, or None for a wrong token; TooManyTries after many of them."""
        if not hmac.compare_digest(token.strip().encode(), self._token):
            if not self._failures.allows(address, now):
                raise TooManyTries
            return None
        while len(self._used_at) >= MOST_KEYS:
            del self._used_at[min(self._used_at, key=self._used_at.__getitem__)]
        key = secrets.token_urlsafe(32)
        self._used_at[key] = now
        return key

    def holds(self, key: str, now: float) -> bool:
        """Whether the key is good; using it keeps it so."""
        used_at = self._used_at.get(key)
        if used_at is None:
            return False
        if now - used_at > IDLE_SECONDS:
            del self._used_at[key]
            return False
        self._used_at[key] = now
        return True

    def sign_out(self, key: str) -> None:
        self._used_at.pop(key, None)
