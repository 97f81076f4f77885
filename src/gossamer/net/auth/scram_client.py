"""SCRAM-SHA-256, the client's side: it proves the password and checks that the broker knows it."""

import base64
import hmac
import secrets

from gossamer.net.auth.saslprep import saslprep
from gossamer.net.auth.scram import METHOD, mac, parse_fields, salted_password, sha256, xor

# A broker that asks for more would keep us busy for minutes.
MOST_ITERATIONS = 1_000_000


class ScramClient:
    """One identity; every `first()` starts a new exchange. ValueError where trust ends."""

    method = METHOD

    def __init__(self, user: str, password: str, nonce: str = "") -> None:
        self._name = saslprep(user).replace("=", "=3D").replace(",", "=2C")
        self._password = password
        self._given_nonce = nonce
        self._nonce = ""
        self._expected = b""  # the server's signature

    def first(self) -> bytes:
        """The first message; goes into CONNECT."""
        self._nonce = self._given_nonce or secrets.token_urlsafe(18)
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
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def verify(self, final: bytes) -> None:
        """The broker's signature; came in CONNACK."""
        signature = base64.b64encode(self._expected)
        if not self._expected or not hmac.compare_digest(final, b"v=" + signature):
            raise ValueError("the broker does not know the password")

    def _bare(self) -> str:
        return f"n={self._name},r={self._nonce}"
