"""`[mesh]`: this broker's name among others, and whom it dials."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from gossamer.net.config.section import Section
from gossamer.net.config.units import FilePath


class PeerTls(Section):
    """`[mesh.peer.tls]`: how a neighbour is dialled with TLS."""

    ca: FilePath | None = Field(
        default=None, description="PEM file with the authorities that sign the neighbour's."
    )
    certificate: FilePath | None = Field(
        default=None, description="PEM file with this broker's own certificate chain."
    )
    key: FilePath | None = Field(default=None, description="PEM file with its private key.")
    server_name: str | None = Field(
        default=None, description="The name in the neighbour's certificate, if not the host's."
    )

    def at(self, folder: Path) -> "PeerTls":
        """With every path taken relative to `folder`."""
        paths = {"ca": self.ca, "certificate": self.certificate, "key": self.key}
        found = {name: folder / path for name, path in paths.items() if path is not None}
        return self.model_copy(update=found)


class Peer(Section):
    """`[[mesh.peer]]`: a neighbour to dial; one of the two needs to."""

    host: str = Field(description="Its host name or address.")
    port: int = Field(default=1883, ge=1, le=65535, description="The port of one of its listeners.")
    tls: PeerTls | None = Field(default=None, description="Dial with TLS.")


class Mesh(Section):
    """Brokers with the same mesh name, mode and key (or trusted certificates) join."""

    name: str = Field(
        min_length=1,
        max_length=64,
        pattern=r"^[A-Za-z0-9._-]+$",
        description="This broker's name, unique in the mesh.",
    )
    mesh: str = Field(default="gossamer", min_length=1, description="The name of the mesh.")
    mode: Literal["pf", "sf", "ssf", "bloom"] = Field(
        default="ssf",
        description="How neighbours learn what is wanted: publication flooding, subscription "
        "flooding, selective subscription forwarding, Bloom summaries.",
    )
    key_file: FilePath | None = Field(
        default=None, description="File with the mesh's key (`gossamer mesh-key` makes one)."
    )
    trust_certificates: tuple[str, ...] = Field(
        default=(),
        description="The neighbours that a verified certificate with their name proves.",
    )
    peer: tuple[Peer, ...] = Field(default=(), description="The neighbours that are dialled.")

    def at(self, folder: Path) -> "Mesh":
        """With every path taken relative to `folder`."""
        peers = tuple(
            peer if peer.tls is None else peer.model_copy(update={"tls": peer.tls.at(folder)})
            for peer in self.peer
        )
        key_file = None if self.key_file is None else folder / self.key_file
        return self.model_copy(update={"peer": peers, "key_file": key_file})
