"""`[mesh.peer.tls]` and `[mesh.stock.tls]`: how another broker is dialled with TLS."""

from pathlib import Path

from pydantic import Field

from gossamer.net.config.section import Section
from gossamer.net.config.units import FilePath


class PeerTls(Section):
    """What this side shows, and whom it trusts."""

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
