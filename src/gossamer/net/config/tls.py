"""`[listener.tls]`: certificate, key and what is asked of clients."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field

from gossamer.net.config.section import Section
from gossamer.net.config.units import FilePath


class Tls(Section):
    """Of the listeners of kind `tls` and `wss`."""

    certificate: FilePath = Field(description="PEM file with the server's certificate chain.")
    key: FilePath = Field(description="PEM file with the private key, without a pass phrase.")
    client_ca: FilePath | None = Field(
        default=None, description="PEM file with the authorities that sign client certificates."
    )
    client_certificate: Literal["none", "optional", "required"] = Field(
        default="none", description="Whether a client must show a certificate of `client_ca`."
    )
    revoked: FilePath | None = Field(
        default=None,
        description="PEM file with revocation lists; then every client certificate needs one.",
    )
    minimum_version: Literal["1.2", "1.3"] = Field(default="1.2", description="Oldest TLS spoken.")
    ciphers: str = Field(
        default="",
        description="OpenSSL cipher list for TLS 1.2; empty for forward-secret AEAD ciphers.",
    )

    def at(self, folder: Path) -> Self:
        """With every path taken relative to `folder`."""
        paths = {
            key: folder / value
            for key in ("certificate", "key", "client_ca", "revoked")
            if (value := getattr(self, key)) is not None
        }
        return self.model_copy(update=paths)
