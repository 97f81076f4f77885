"""`[[listener]]`: where clients come in, how they prove who they are, and their own limits."""

from typing import Final, Literal

from gossamer.net.config.limits import Limits
from gossamer.net.config.section import Section
from gossamer.net.config.value_types import FilePath, Mode, Network, Port, UrlPath


class Tls(Section):
    """For listeners of kind `tls` and `wss`."""

    certificate: FilePath
    """PEM file with the server's certificate chain."""
    key: FilePath
    """PEM file with the private key, without a pass phrase."""
    client_ca: FilePath | None = None
    """PEM file with the authorities that sign client certificates."""
    client_certificate: Literal["none", "optional", "required"] = "none"
    """Whether a client must present a certificate signed by `client_ca`."""
    revoked: FilePath | None = None
    """PEM file with revocation lists; then every client certificate needs one."""
    minimum_version: Literal["1.2", "1.3"] = "1.2"
    """Minimum TLS version."""
    ciphers: str = ""
    """OpenSSL cipher list for TLS 1.2; empty for forward-secret AEAD ciphers."""


Kind = Literal["tcp", "tls", "ws", "wss", "unix"]
Method = Literal["certificate", "password", "jwt", "scram", "plugin"]

DEFAULT_PORTS: Final[dict[str, int]] = {"tcp": 1883, "tls": 8883, "ws": 8083, "wss": 8084}
ENCRYPTED: Final = ("tls", "wss")


class Listener(Section):
    """A place where clients connect."""

    kind: Kind = "tcp"
    """Protocol of the listener."""
    host: str = "127.0.0.1"
    """Address to listen on; `0.0.0.0` or `::` for all."""
    port: Port | None = None
    """Port; by default 1883 (tcp), 8883 (tls), 8083 (ws) or 8084 (wss)."""
    socket: FilePath | None = None
    """Path of the socket of a `unix` listener."""
    socket_mode: Mode = "660"
    """Permission bits of that socket, in octal."""
    path: UrlPath | None = None
    """Path that WebSocket clients have to ask for; by default any."""
    origins: tuple[str, ...] = ()
    """Web origins whose pages may connect, `*` for all. If empty, any may connect, except where
    clients are accepted by address (`anonymous` is `local`) or by certificate: then only the
    listener's own origin."""
    tls: Tls | None = None
    """Needed by `tls` and `wss`, refused elsewhere."""
    anonymous: Literal["never", "local", "always"] | None = None
    """Which clients may connect without authentication; by default `local` (this machine) while
    there is no other way to log in, and `never` once there is."""
    auth: tuple[Method, ...] | None = None
    """Authentication methods of this listener, in order; by default all that are configured."""
    proxy_protocol: bool = False
    """Whether connections start with a PROXY protocol v2 header."""
    proxies: tuple[Network, ...] = ("127.0.0.0/8", "::1/128")
    """Addresses that may send that header; other connections are closed at once."""
    limits: Limits | None = None
    """Limits of this listener that differ from `[limits]`."""

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

    def check(self) -> None:
        """It fits its kind."""
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
