"""`[mesh]`: this broker's name among others, and whom it dials."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from gossamer.net.config.peer_tls import PeerTls
from gossamer.net.config.section import Section
from gossamer.net.config.stock import Stock
from gossamer.net.config.units import FilePath


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
    mode: Literal["pf", "sf", "ssf", "bloom", "auto"] = Field(
        default="ssf",
        description="How neighbours learn what is wanted: publication flooding, subscription "
        "flooding, selective subscription forwarding, Bloom summaries, or what fits each branch "
        "of topics. Until `gossamer ctl mesh-mode` says otherwise.",
    )
    topology: Literal["graph", "tree"] = Field(
        default="graph",
        description="What the links form: any graph, of which the brokers keep a tree and mend it; "
        "or a tree, as the operator promises. The same on all brokers.",
    )
    silence_seconds: float = Field(
        default=1.5,
        ge=0.3,
        le=60.0,
        description="A neighbour that has been silent for so long is gone (in a graph).",
    )
    key_file: FilePath | None = Field(
        default=None, description="File with the mesh's key (`gossamer mesh-key` makes one)."
    )
    trust_certificates: tuple[str, ...] = Field(
        default=(),
        description="The neighbours that a verified certificate with their name proves.",
    )
    roaming_seconds: float = Field(
        default=5.0,
        ge=0.0,
        le=60.0,
        description="How long the CONNECT of a client waits for its session on another broker; "
        "0 leaves sessions where they are. The same on all brokers of the mesh.",
    )
    peer: tuple[Peer, ...] = Field(default=(), description="The neighbours that are dialled.")
    seeds: tuple[Annotated[str, Field(pattern=r"^.+:[0-9]{1,5}$")], ...] = Field(
        default=(),
        description="Names with a port, as in `brokers.example.net:1883`: every address that they "
        "have is dialled, and looked up again from time to time. TLS is as for the first peer.",
    )

    stock: tuple[Stock, ...] = Field(
        default=(), description="Brokers of other makes that are neighbours too."
    )

    def at(self, folder: Path) -> "Mesh":
        """With every path taken relative to `folder`."""
        peers = tuple(
            peer if peer.tls is None else peer.model_copy(update={"tls": peer.tls.at(folder)})
            for peer in self.peer
        )
        key_file = None if self.key_file is None else folder / self.key_file
        stocks = tuple(stock.at(folder) for stock in self.stock)
        return self.model_copy(update={"peer": peers, "key_file": key_file, "stock": stocks})
