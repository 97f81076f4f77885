"""The password file: lines `user:hash`, read, checked and written.

New hashes are argon2id; those of mosquitto's files are understood, so that nobody needs a new
password to move.
"""

import binascii
import hmac
import os
import stat
import tempfile
from base64 import b64decode
from contextlib import suppress
from hashlib import pbkdf2_hmac, sha512
from pathlib import Path
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError
from argon2.low_level import Type

from gossamer.broker.policy import Verdict
from gossamer.net.auth.backend import Attempt, Backend, refusal
from gossamer.net.config.loading import read_text
from gossamer.net.config.value_types import ConfigError
from gossamer.wire.reasons import SUCCESS

# OWASP's choice for argon2id: 19 MiB keeps a wave of logins within the memory of a small machine.
HASHER: Final = PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1, type=Type.ID)
# Verified for users that do not exist, so that time does not tell who does.
NOBODY: Final = HASHER.hash(os.urandom(16))
LONGEST_PASSWORD: Final = 4096
# How hashes begin that mosquitto_passwd wrote; salt and hash are in base64.
#     $7$ITERATIONS$SALT$HASH   PBKDF2 with HMAC-SHA-512 (mosquitto 2)
#     $6$SALT$HASH              SHA-512 of password and salt (mosquitto 1)
# They are weaker than argon2id: set a password anew and it becomes one.
MOSQUITTO_PREFIXES: Final = ("$7$", "$6$")
_MOSQUITTO_BYTES: Final = 64
# A file is trusted, but a slip in it must not hold up every login.
_MOST_ITERATIONS: Final = 10_000_000


class PasswordBackend(Backend):
    name = "password"

    def __init__(self, hashes: dict[str, str]) -> None:
        self._hashes = hashes

    def check(self, attempt: Attempt) -> Verdict | None:
        if not attempt.user or attempt.password is None:
            return None
        if len(attempt.password) > LONGEST_PASSWORD:
            return refusal()
        known = self._hashes.get(attempt.user)
        is_right = _verifies(NOBODY if known is None else known, attempt.password)
        if known is None:
            return None
        return Verdict(SUCCESS, attempt.user) if is_right else refusal()


def _verifies(hash: str, password: bytes) -> bool:
    is_right = False
    if hash.startswith(MOSQUITTO_PREFIXES):
        is_right = _verifies_mosquitto(hash, password)
        hash = NOBODY  # the same work as for everybody, so that time does not tell who moved
    try:
        return HASHER.verify(hash, password)
    except VerifyMismatchError:
        return is_right


def read_entries(path: Path, *prefixes: str) -> dict[str, str]:
    """User → what follows the first colon. Blank lines are skipped, anything else odd is refused.

    `prefixes` are how an entry may start: a line that lost its hash must not become a user
    without a password.
    """
    entries: dict[str, str] = {}
    problems: list[str] = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        user, colon, entry = line.strip().partition(":")
        if not colon or not user or not entry.startswith(prefixes):
            problems.append(f"{path}, line {number}: must be user:{prefixes[0]}…")
        elif user in entries:
            problems.append(f"{path}, line {number}: {user} is there twice")
        else:
            entries[user] = entry
    if problems:
        raise ConfigError(*problems)
    return entries


def load_passwords(path: Path) -> dict[str, str]:
    """User → hash, every hash well-formed."""
    hashes = read_entries(path, "$argon2id$", *MOSQUITTO_PREFIXES)
    for user, text in hashes.items():
        if is_mosquitto_hash(text):
            continue
        try:
            HASHER.check_needs_rehash(text)
        except (InvalidHashError, VerificationError, ValueError) as error:
            raise ConfigError(f"{path}: the hash of {user} is damaged") from error
    return hashes


def check_user_name(user: str) -> None:
    """ValueError for a name that a line of the file cannot hold."""
    if not user or ":" in user or user != user.strip() or not user.isprintable():
        raise ValueError("a user name is printable text without : and without blanks around it")


def write_entries(path: Path, entries: dict[str, str]) -> None:
    """Replaces the file in one step; a new one can be read by nobody but its owner."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            _keep_rights(handle, path)
            file.writelines(f"{user}:{entry}\n" for user, entry in entries.items())
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _keep_rights(handle: int, path: Path) -> None:
    """A group that might read the old file may read the new one; if everybody might, nobody may."""
    if not path.exists() or path.stat().st_mode & stat.S_IRWXO:
        return
    before = path.stat()
    with suppress(PermissionError):
        os.fchown(handle, before.st_uid, before.st_gid)
        os.fchmod(handle, stat.S_IMODE(before.st_mode))


def is_mosquitto_hash(text: str) -> bool:
    """Whether it is one that mosquitto_passwd wrote, and whole."""
    try:
        _mosquitto_parts(text)
    except ValueError:
        return False
    return True


def _verifies_mosquitto(text: str, password: bytes) -> bool:
    """Whether this is the password of a hash that is one."""
    iterations, salt, expected = _mosquitto_parts(text)
    if iterations:
        found = pbkdf2_hmac("sha512", password, salt, iterations, _MOSQUITTO_BYTES)
    else:
        found = sha512(password + salt).digest()
    return hmac.compare_digest(found, expected)


def _mosquitto_parts(text: str) -> tuple[int, bytes, bytes]:
    """Iterations (0 for the older kind), salt and hash."""
    fields = text.split("$")
    if fields[:2] not in (["", "7"], ["", "6"]) or len(fields) != (5 if fields[1] == "7" else 4):
        raise ValueError("not a hash of mosquitto's")
    iterations = int(fields[2]) if len(fields) == 5 else 0
    if len(fields) == 5 and not 0 < iterations <= _MOST_ITERATIONS:
        raise ValueError("not a number of iterations")
    try:
        salt = b64decode(fields[-2], validate=True)
        expected = b64decode(fields[-1], validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
    if len(expected) != _MOSQUITTO_BYTES or not salt:
        raise ValueError("truncated")
    return iterations, salt, expected
