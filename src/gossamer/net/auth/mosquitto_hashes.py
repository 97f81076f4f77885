"""The hashes that mosquitto_passwd writes, so that its users keep their passwords.

    $7$ITERATIONS$SALT$HASH   PBKDF2 with HMAC-SHA-512 (mosquitto 2)
    $6$SALT$HASH              SHA-512 of password and salt (mosquitto 1)

Salt and hash are in base64. They are weaker than argon2id: set a password anew and it becomes one.
"""

import binascii
import hmac
from base64 import b64decode
from hashlib import pbkdf2_hmac, sha512
from typing import Final

_FIELDS: Final = {"$7$": 5, "$6$": 4}
PREFIXES: Final = tuple(_FIELDS)
_HASH_BYTES: Final = 64
# A file is trusted, but a slip in it must not hold up every login.
_MOST_ITERATIONS: Final = 10_000_000


def is_mosquitto_hash(text: str) -> bool:
    """Whether it is one, and whole."""
    try:
        _parts(text)
    except ValueError:
        return False
    return True


def verifies(text: str, password: bytes) -> bool:
    """Whether this is the password of a hash that is one."""
    iterations, salt, expected = _parts(text)
    if iterations:
        found = pbkdf2_hmac("sha512", password, salt, iterations, _HASH_BYTES)
    else:
        found = sha512(password + salt).digest()
    return hmac.compare_digest(found, expected)


def _parts(text: str) -> tuple[int, bytes, bytes]:
    """Iterations (0 for the older kind), salt and hash."""
    fields = text.split("$")
    if (
        len(fields) not in (4, 5)
        or text[:3] not in PREFIXES
        or (len(fields) == 5) != (text[1] == "7")
    ):
        raise ValueError("not a hash of mosquitto's")
    iterations = int(fields[2]) if len(fields) == 5 else 0
    if len(fields) == 5 and not 0 < iterations <= _MOST_ITERATIONS:
        raise ValueError("not a number of iterations")
    try:
        salt = b64decode(fields[-2], validate=True)
        expected = b64decode(fields[-1], validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
    if len(expected) != _HASH_BYTES or not salt:
        raise ValueError("truncated")
    return iterations, salt, expected
