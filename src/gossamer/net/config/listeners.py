"""`[[listener]]`: where clients come in, how they prove who they are, and their own limits."""

from pathlib import Path
from typing import Final, Literal

from pydantic import Field, model_validator

from gossamer.net.config.limits import Limits
from gossamer.net.config.section import Section
from gossamer.net.config.tls import Tls
from gossamer.net.config.units import FilePath, Mode, Network, Port, UrlPath

Kind = Literal["tcp", "tls", "ws", "wss", "unix"]
Method = Literal["certificate", "password", "jwt", "scram", "plugin"]

DEFAULT_PORTS: Final[dict[str, int]] = {"tcp": 1883, "tls": 8883, "ws": 8083, "wss": 8084}
ENCRYPTED: Final = ("tls", "wss")


class Listener(Section):
    """One place to connect to."""

    kind: Kind = Field(default="tcp", description="What is spoken there.")
    host: str = Field(
        default="127.0.0.1", description="Address to listen on; `0.0.0.0` or `::` for all."
    )
    port: Port | None = Field(
        default=None,
        description="Port; by default 1883 (tcp), 8883 (tls), 8083 (ws) or 8084 (wss).",
    )
    socket: FilePath | None = Field(
        default=None, description="Path of the socket of a `unix` listener."
    )
    socket_mode: Mode = Field(
        default="660", description="Permission bits of that socket, in octal."
    )
    path: UrlPath = Field(default="/mqtt", description="Path that a WebSocket client asks for.")
    origins: tuple[str, ...] = Field(
        default=(),
        description="Web origins whose pages may connect, `*` for all. While it is empty any may, "
        "but where clients are let in by their address (`anonymous` is `local`) or by a "
        "certificate, only the listener's own.",
    )
    tls: Tls | None = Field(
        default=None, description="Needed by `tls` and `wss`, refused elsewhere."
    )
    anonymous: Literal["never", "local", "always"] | None = Field(
        default=None,
        description="Who may come without proving a name; by default `local` (this machine) while "
        "there is no other way to log in, and `never` once there is.",
    )
    auth: tuple[Method, ...] | None = Field(
        default=None,
        description="Ways to log in here, in this order; by default all that are configured.",
    )
    proxy_protocol: bool = Field(
        default=False, description="Whether connections start with a PROXY protocol v2 header."
    )
    proxies: tuple[Network, ...] = Field(
        default=("127.0.0.0/8", "::1/128"),
        description="Who may send that header; others are closed at once.",
    )
    limits: Limits | None = Field(default=None, description="What differs from `[limits]` here.")

    @property
    def resolved_port(self) -> int:
        return DEFAULT_PORTS.get(self.kind, 0) if self.port is None else self.port

    @property
    def name(self) -> str:
        """How logs, metrics and `check` call it."""
        if self.kind == "unix":
            return f"unix:{self.socket}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.kind}://{host}:{self.resolved_port}"

    @property
    def encrypted(self) -> bool:
        return self.kind in ENCRYPTED

    @property
    def sees_certificates(self) -> bool:
        """Whether its clients can show a certificate."""
        return self.tls is not None and self.tls.client_certificate != "none"

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "Listener":
        if self.encrypted and self.tls is None:
            raise ValueError(f"a listener of kind {self.kind} needs [listener.tls]")
        if not self.encrypted and self.tls is not None:
            raise ValueError(f"a listener of kind {self.kind} has no [listener.tls]")
        if self.kind == "unix" and self.socket is None:
            raise ValueError("a listener of kind unix needs the key socket")
        if self.kind != "unix" and self.socket is not None:
            raise ValueError(f"a listener of kind {self.kind} has no key socket")
        if self.tls is not None and self.sees_certificates and self.tls.client_ca is None:
            raise ValueError("tls.client_certificate needs tls.client_ca")
        if "certificate" in (self.auth or ()) and not self.sees_certificates:
            raise ValueError("auth names certificate, which needs tls.client_certificate")
        return self

    def at(self, folder: Path) -> "Listener":
        """With its paths taken relative to `folder`."""
        tls = None if self.tls is None else self.tls.at(folder)
        socket = self.socket if self.socket is None else folder / self.socket
        return self.model_copy(update={"tls": tls, "socket": socket})
