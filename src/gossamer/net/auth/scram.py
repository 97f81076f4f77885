"""SCRAM-SHA-256 (RFC 5802 and 7677): the broker's side, the client's, and SASLprep (RFC 4013).

The broker keeps verifiers, not passwords: who steals the file cannot log in with it. Not scramp's:
that refuses an authorization name and salts below 12 bytes, which files in use may have, tells
unknown users apart unless it is worked around, has no types, and brings asn1crypto.
"""

import base64
import hashlib
import hmac
import os
import secrets
import stringprep
import unicodedata
from pathlib import Path
from typing import Final, NamedTuple

from gossamer.broker.policy import AuthStep, Exchange, Verdict
from gossamer.client.login import EnhancedAuthentication
from gossamer.net.auth.passwords import read_entries
from gossamer.net.config.value_types import ConfigError
from gossamer.wire.reasons import NOT_AUTHORIZED, SUCCESS

METHOD: Final = "SCRAM-SHA-256"
ITERATIONS: Final = 15_000  # Above the 4,096 that RFC 7677 asks for; paid by the client, once.
FEWEST_ITERATIONS: Final = 4096
# A broker that asks for more would keep its client busy for minutes.
MOST_ITERATIONS: Final = 1_000_000
LONGEST_MESSAGE: Final = 4096
_NONCE_BYTES: Final = 18
_FAKE_SECRET: Final = os.urandom(32)

_PROHIBITED: Final = (
    stringprep.in_table_c12,
    stringprep.in_table_c21_c22,
    stringprep.in_table_c3,
    stringprep.in_table_c4,
    stringprep.in_table_c5,
    stringprep.in_table_c6,
    stringprep.in_table_c7,
    stringprep.in_table_c8,
    stringprep.in_table_c9,
)


class Verifier(NamedTuple):
    """What the broker keeps of a password; its text is that of RFC 5803."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    def __str__(self) -> str:
        return (
            f"{METHOD}${self.iterations}:{_b64(self.salt)}"
            f"${_b64(self.stored_key)}:{_b64(self.server_key)}"
        )

    @classmethod
    def parse(cls, text: str) -> "Verifier":
        """ValueError if the text is not one that `str()` makes."""
        method, head, keys = text.split("$")
        iterations, salt = head.split(":")
        stored, server = (base64.b64decode(key, validate=True) for key in keys.split(":"))
        verifier = cls(base64.b64decode(salt, validate=True), int(iterations), stored, server)
        if method != METHOD or len(stored) != 32 or len(server) != 32 or not verifier.salt:
            raise ValueError("not a SCRAM-SHA-256 verifier")
        if verifier.iterations < FEWEST_ITERATIONS:
            raise ValueError(f"fewer than {FEWEST_ITERATIONS} iterations")
        return verifier

    @classmethod
    def of(cls, password: str, salt: bytes = b"", iterations: int = ITERATIONS) -> "Verifier":
        """The verifier of a password, with a random salt unless one is given."""
        salt = salt or os.urandom(16)
        salted = salted_password(password, salt, iterations)
        client_key = mac(salted, b"Client Key")
        return cls(salt, iterations, sha256(client_key), mac(salted, b"Server Key"))


def load_verifiers(path: Path) -> dict[str, Verifier]:
    """User → verifier, from lines `user:SCRAM-SHA-256$…`."""
    verifiers: dict[str, Verifier] = {}
    for user, text in read_entries(path, f"{METHOD}$").items():
        try:
            verifiers[saslprep(user)] = Verifier.parse(text)
        except ValueError as error:
            raise ConfigError(f"{path}: the verifier of {user} is damaged: {error}") from error
    return verifiers


class ScramExchange(Exchange):
    """One login. Any fault ends it with the same refusal."""

    def __init__(self, verifiers: dict[str, Verifier], nonce: str = "") -> None:
        self._verifiers = verifiers
        self._nonce = nonce or secrets.token_urlsafe(_NONCE_BYTES)
        self.user = ""
        self._verifier: Verifier | None = None
        self._is_known = False
        self._gs2_header = ""
        self._transcript = ""  # client-first-bare and server-first, as the proof covers them

    def step(self, data: bytes) -> AuthStep:
        try:
            if len(data) > LONGEST_MESSAGE:
                raise ValueError("a message that is too long")
            text = data.decode("utf-8")
            return self._challenge(text) if self._verifier is None else self._conclude(text)
        except ValueError:
            return AuthStep(b"", Verdict(NOT_AUTHORIZED))

    def _challenge(self, message: str) -> AuthStep:
        binding, authorization, bare = message.split(",", 2)
        if binding not in ("n", "y"):
            raise ValueError("channel binding was not offered")
        fields = parse_fields(bare, "n", "r")
        self.user = saslprep(unescape_name(fields["n"]))
        if authorization and unescape_name(authorization.removeprefix("a=")) != self.user:
            raise ValueError("authorization identities are not supported")
        if not fields["r"]:
            raise ValueError("an empty nonce")
        known = self._verifiers.get(self.user)
        self._is_known = known is not None
        self._verifier = _fake_verifier(self.user) if known is None else known
        self._nonce = fields["r"] + self._nonce
        self._gs2_header = f"{binding},{authorization},"
        first = f"r={self._nonce},s={_b64(self._verifier.salt)},i={self._verifier.iterations}"
        self._transcript = f"{bare},{first}"
        return AuthStep(first.encode())

    def _conclude(self, message: str) -> AuthStep:
        verifier = self._verifier
        assert verifier is not None
        without_proof, mark, proof = message.rpartition(",p=")
        fields = parse_fields(without_proof, "c", "r")
        if not mark or fields["c"] != _b64(self._gs2_header.encode()):
            raise ValueError("the header is not that of the first message")
        if not hmac.compare_digest(fields["r"].encode(), self._nonce.encode()):
            raise ValueError("not our nonce")
        transcript = f"{self._transcript},{without_proof}".encode()
        signature = mac(verifier.stored_key, transcript)
        client_key = xor(base64.b64decode(proof, validate=True), signature)
        is_right = hmac.compare_digest(sha256(client_key), verifier.stored_key)
        if not is_right or not self._is_known:
            raise ValueError("wrong proof")
        final = "v=" + _b64(mac(verifier.server_key, transcript))
        return AuthStep(final.encode(), Verdict(SUCCESS, self.user))


def _fake_verifier(user: str) -> Verifier:
    """For a user who is not there: always the same salt, so that nobody learns it by asking."""
    salt = mac(_FAKE_SECRET, user.encode())[:16]
    return Verifier(salt, ITERATIONS, os.urandom(32), os.urandom(32))


class ScramClient(EnhancedAuthentication):
    """The client's side: it proves the password and checks that the broker knows it.

    One identity; every `first()` starts a new exchange. ValueError where trust ends.
    """

    def __init__(self, user: str, password: str, nonce: str = "") -> None:
        super().__init__(METHOD)
        self._name = saslprep(user).replace("=", "=3D").replace(",", "=2C")
        self._password = password
        self._given_nonce = nonce
        self._nonce = ""
        self._expected = b""  # the server's signature

    def first(self) -> bytes:
        """The first message; goes into CONNECT."""
        self._nonce = self._given_nonce or secrets.token_urlsafe(_NONCE_BYTES)
        self._expected = b""
        return f"n,,{self._bare()}".encode()

    def respond(self, challenge: bytes) -> bytes:
        """The proof; goes into AUTH."""
        text = challenge.decode()
        fields = parse_fields(text, "r", "s", "i")
        iterations = int(fields["i"])
        if not fields["r"].startswith(self._nonce) or len(fields["r"]) == len(self._nonce):
            raise ValueError("the broker's nonce does not extend ours")
        if not 1 <= iterations <= MOST_ITERATIONS:
            raise ValueError("an unreasonable number of iterations")
        salt = base64.b64decode(fields["s"], validate=True)
        salted = salted_password(self._password, salt, iterations)
        without_proof = f"c=biws,r={fields['r']}"
        transcript = f"{self._bare()},{text},{without_proof}".encode()
        client_key = mac(salted, b"Client Key")
        proof = xor(client_key, mac(sha256(client_key), transcript))
        self._expected = mac(mac(salted, b"Server Key"), transcript)
        return f"{without_proof},p={_b64(proof)}".encode()

    def verify(self, final: bytes) -> None:
        """The broker's signature; came in CONNACK."""
        signature = base64.b64encode(self._expected)
        if not self._expected or not hmac.compare_digest(final, b"v=" + signature):
            raise ValueError("the broker does not know the password")

    def _bare(self) -> str:
        return f"n={self._name},r={self._nonce}"


def saslprep(text: str) -> str:
    """The prepared text; ValueError if it holds what RFC 4013 prohibits."""
    if text.isascii() and text.isprintable():
        return text
    mapped = "".join(
        " " if stringprep.in_table_c12(one) else one
        for one in text
        if not stringprep.in_table_b1(one)
    )
    prepared = unicodedata.normalize("NFKC", mapped)
    if any(table(one) for one in prepared for table in _PROHIBITED):
        raise ValueError("a character that SASLprep prohibits")
    right_to_left = [stringprep.in_table_d1(one) for one in prepared]
    if any(right_to_left):
        mixed = any(stringprep.in_table_d2(one) for one in prepared)
        if mixed or not (right_to_left[0] and right_to_left[-1]):
            raise ValueError("right-to-left text mixed with other text")
    return prepared


def parse_fields(text: str, *names: str) -> dict[str, str]:
    """`a=1,b=2` in exactly this order at the start; extensions may follow, but not `m=`."""
    parts = text.split(",")
    fields: dict[str, str] = {}
    for name, part in zip(names, parts, strict=False):
        key, mark, value = part.partition("=")
        if key != name or not mark:
            raise ValueError(f"{name}= was expected")
        fields[name] = value
    if len(fields) != len(names) or any(part.startswith("m=") for part in parts):
        raise ValueError("fields are missing, or unknown ones are mandatory")
    return fields


def unescape_name(name: str) -> str:
    """`=2C` and `=3D` are the only uses of `=` in a name."""
    if "=" in name.replace("=2C", "").replace("=3D", ""):
        raise ValueError("a stray = in a name")
    return name.replace("=2C", ",").replace("=3D", "=")


def salted_password(password: str, salt: bytes, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", saslprep(password).encode(), salt, iterations)


def mac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()
