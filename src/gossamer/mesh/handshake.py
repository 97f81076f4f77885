"""Two brokers prove to each other that they know the mesh's key, and agree on what they speak.

    dialler → acceptor   who I am, a nonce                       (in CONNECT)
    acceptor → dialler   who I am, a nonce, proof over both      (in AUTH)
    dialler → acceptor   proof over both                         (in AUTH)

A proof is an HMAC over both introductions and the prover's role: it fits no other handshake, and
none sent in the other direction. Without a key the proofs prove nothing, and TLS has proved the
names; with both, both must hold.
"""

import hmac
import json
import secrets
from collections.abc import Callable
from typing import Final

from gossamer.broker.mesh_port import PEER_METHOD
from gossamer.broker.policy import AuthStep, Exchange, Verdict
from gossamer.client.login import EnhancedAuthentication
from gossamer.mesh.gossip.item import is_name
from gossamer.mesh.settings import FIRST, NOTHING, ZSTD, MeshSettings
from gossamer.wire import reasons

_NONCE_BYTES: Final = 16
_MOST_BYTES: Final = 4_096  # of an introduction; its fields are short
_MOST_CAPABILITIES: Final = 100
_MOST_SPEAKS: Final = 1_000_000
# In 0.1.0 there was also `tree`, whose links had to be one and told nobody of each other.
_TOPOLOGY: Final = "graph"


class HandshakeError(ValueError):
    """Why this neighbour is none."""


class Introduction:
    """What a broker says of itself."""

    def __init__(
        self,
        mesh: str,
        name: str,
        mode: str,
        nonce: str,
        speaks: int = FIRST,
        capabilities: frozenset[str] = NOTHING,
    ) -> None:
        self.mesh = mesh
        self.name = name
        self.mode = mode
        self.nonce = nonce
        self.speaks = speaks
        self.capabilities = capabilities

    def encode(self) -> bytes:
        return json.dumps(
            {
                "mesh": self.mesh,
                "name": self.name,
                "mode": self.mode,
                "topology": _TOPOLOGY,
                "nonce": self.nonce,
                "speaks": self.speaks,
                "can": sorted(self.capabilities),
            }
        ).encode()


def introduce(settings: MeshSettings, compresses: bool = False) -> Introduction:
    """`compresses`: the neighbour may compress what it sends."""
    nonce = secrets.token_hex(_NONCE_BYTES)
    return Introduction(
        settings.mesh,
        settings.name,
        settings.mode,
        nonce,
        settings.speaks,
        settings.capabilities | {ZSTD} if compresses else settings.capabilities,
    )


def read_introduction(data: bytes, settings: MeshSettings) -> Introduction:
    """Checked as far as it can be without proof; HandshakeError says what does not fit."""
    fields: dict[str, object] = {}
    try:
        if len(data) <= _MOST_BYTES:
            loaded = json.loads(data)
            if isinstance(loaded, dict):
                fields = loaded
    except (ValueError, RecursionError):
        pass
    values: list[str] = []
    for field in ("mesh", "name", "mode", "topology", "nonce"):
        value = fields.get(field)
        if not isinstance(value, str):
            raise HandshakeError("its introduction is malformed")
        values.append(value)
    mesh, name, mode, topology, nonce = values
    if mesh != settings.mesh:
        raise HandshakeError(f"it belongs to the mesh {mesh!r}, not to {settings.mesh!r}")
    if not name.isprintable() or not is_name(name):
        raise HandshakeError("its name is not valid")
    if name == settings.name:
        raise HandshakeError(f"it has this broker's own name, {name!r}")
    if topology != _TOPOLOGY:
        raise HandshakeError(
            f"{name} has topology = {topology!r} in [mesh], which is no more: "
            "remove the line there, any links will do"
        )
    speaks = fields.get("speaks", FIRST)
    if not isinstance(speaks, int) or not FIRST <= speaks <= _MOST_SPEAKS:
        raise HandshakeError("its introduction is malformed")
    return Introduction(mesh, name, mode, nonce, speaks, _capabilities(fields.get("can", [])))


def _capabilities(told: object) -> frozenset[str]:
    if not isinstance(told, list) or len(told) > _MOST_CAPABILITIES:
        raise HandshakeError("its introduction is malformed")
    return frozenset([each for each in told if isinstance(each, str)])


def proof(key: str, role: bytes, dialler: bytes, acceptor: bytes) -> bytes:
    message = b"\0".join((role, dialler.hex().encode(), acceptor.hex().encode()))
    return hmac.new(key.encode(), message, "sha256").digest()


def has_certificate(settings: MeshSettings, name: str, certificate_user: str) -> bool:
    """Whether TLS has proved the name, where that is asked for; a mesh has a key or asks for it."""
    if not settings.certified_names:
        return bool(settings.key)
    return name in settings.certified_names and certificate_user == name


DIALLER: Final = b"dialler"
ACCEPTOR: Final = b"acceptor"


class Accepting(Exchange):
    """The acceptor's side."""

    def __init__(
        self,
        settings: MeshSettings,
        own: Introduction,
        certificate_user: str,
        proved: Callable[[Introduction], None],
    ) -> None:
        """`proved` is told who it is, once that is certain."""
        self._settings = settings
        self._own = own.encode()
        self._certificate_user = certificate_user
        self._proved = proved
        self._theirs = b""
        self.peer: Introduction | None = None

    def step(self, data: bytes) -> AuthStep:
        if self.peer is None:
            return self._introduced(data)
        settings = self._settings
        name = self.peer.name
        expected = proof(settings.key, DIALLER, self._theirs, self._own)
        if not (
            hmac.compare_digest(expected, data)
            and has_certificate(settings, name, self._certificate_user)
        ):
            return AuthStep(
                b"",
                Verdict(reasons.NOT_AUTHORIZED, text="wrong mesh key, or no trusted certificate"),
            )
        self._proved(self.peer)
        return AuthStep(b"", Verdict(reasons.SUCCESS, user="$mesh", peer=name))

    def _introduced(self, data: bytes) -> AuthStep:
        try:
            self.peer = read_introduction(data, self._settings)
        except HandshakeError as error:
            return AuthStep(b"", Verdict(reasons.NOT_AUTHORIZED, text=str(error)))
        self._theirs = data
        answer = proof(self._settings.key, ACCEPTOR, data, self._own)
        return AuthStep(answer + self._own)


class Dialling(EnhancedAuthentication):
    """The dialler's side, as its login asks for it."""

    def __init__(
        self,
        settings: MeshSettings,
        own: Introduction,
        certificate_user: str,
        proved: Callable[[Introduction], None],
    ) -> None:
        """`proved` is told who the acceptor is, once that is certain and before we prove ourselves;
        it may raise HandshakeError."""
        super().__init__(PEER_METHOD)
        self._settings = settings
        self._own = own.encode()
        self._certificate_user = certificate_user
        self._proved = proved

    def first(self) -> bytes:
        return self._own

    def respond(self, challenge: bytes) -> bytes:
        """Our proof; HandshakeError if the acceptor is not who it says."""
        size = 32
        theirs = challenge[size:]
        peer = read_introduction(theirs, self._settings)
        key = self._settings.key
        if not hmac.compare_digest(proof(key, ACCEPTOR, self._own, theirs), challenge[:size]):
            raise HandshakeError(f"{peer.name} does not know the key of this mesh")
        if not has_certificate(self._settings, peer.name, self._certificate_user):
            raise HandshakeError(f"{peer.name} has no certificate that this broker trusts")
        self._proved(peer)
        return proof(key, DIALLER, self._own, theirs)
