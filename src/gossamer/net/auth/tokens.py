"""JSON Web Tokens as passwords: one key and one algorithm, both from the configuration."""

from typing import Any, Final

import jwt

from gossamer.broker.policy import Verdict
from gossamer.net.auth.backend import Attempt, Backend, refusal
from gossamer.net.config.auth import Jwt
from gossamer.net.config.value_types import ConfigError
from gossamer.wire.reasons import SUCCESS

SHORTEST_SECRET: Final = 32  # RFC 7518, section 3.2: as long as the hash.
LONGEST_TOKEN: Final = 16384
GROUPS_CLAIM: Final = "groups"


class TokenBackend(Backend):
    name = "jwt"

    def __init__(self, settings: Jwt, key: Any) -> None:
        self._settings = settings
        self._key = key

    def check(self, attempt: Attempt) -> Verdict | None:
        password = attempt.password
        if not password or password.count(b".") != 2 or not password.startswith(b"ey"):
            return None  # Not a token; perhaps a password.
        if len(password) > LONGEST_TOKEN:
            return refusal()
        settings = self._settings
        try:
            claims = jwt.decode(
                password,
                self._key,
                algorithms=[settings.algorithm],
                issuer=settings.issuer,
                audience=settings.audience,
                leeway=settings.leeway,
                options={
                    "require": ["exp", settings.user_claim],
                    "verify_aud": settings.audience is not None,
                },
            )
        except jwt.InvalidTokenError:
            return refusal("the token is not valid")
        user = claims[settings.user_claim]
        if not isinstance(user, str) or not user or (attempt.user and attempt.user != user):
            return refusal("the user name is not the token's")
        if not _is_utf8(user):
            return refusal("the token's user name is not text")
        groups = claims.get(GROUPS_CLAIM, [])
        if not isinstance(groups, list):
            return refusal("the token's groups are not a list")
        return Verdict(SUCCESS, user, groups=[one for one in groups if isinstance(one, str)])


def _is_utf8(text: str) -> bool:
    """JSON can spell half of a letter, which nothing can store or send."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def load_key(settings: Jwt) -> Any:
    """The key, checked to fit the algorithm; ConfigError if it does not."""
    try:
        data = settings.key.read_bytes()
    except OSError as error:
        raise ConfigError(f"{settings.key}: cannot be read: {error.strerror}") from error
    if settings.algorithm == "HS256":
        data = data.strip()
        if len(data) < SHORTEST_SECRET:
            raise ConfigError(
                f"{settings.key}: an HS256 secret has at least {SHORTEST_SECRET} bytes"
            )
    try:
        key = jwt.get_algorithm_by_name(settings.algorithm).prepare_key(data)
    except (jwt.InvalidKeyError, ValueError, TypeError) as error:
        raise ConfigError(f"{settings.key}: is not a key for {settings.algorithm}") from error
    if settings.algorithm != "HS256" and not hasattr(key, "verify"):
        raise ConfigError(f"{settings.key}: is a private key; give the broker the public one")
    return key
