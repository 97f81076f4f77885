"""The whole configuration, as its sections; here are the small ones, by which it is watched and
operated: `[sys]`, `[admin]`, `[log]` and `[trace]`.
"""

from typing import Literal

from gossamer.net.config.auth import AuthSection, PermissionsSection
from gossamer.net.config.limits import Limits, Rates
from gossamer.net.config.listeners import Listener
from gossamer.net.config.mesh import MeshSection
from gossamer.net.config.plus import Geo, Plus, Vision
from gossamer.net.config.section import Section, setting
from gossamer.net.config.store import ArchiveSection, StoreSection
from gossamer.net.config.value_types import Duration, FilePath, Port


class Sys(Section):
    """The broker's own topics under `$SYS/`."""

    interval: Duration = 10.0
    """Time between two updates; 0 for no updates."""


class Admin(Section):
    """The admin HTTP API. It uses plain HTTP: keep it on this machine."""

    enabled: bool = False
    """Whether it is enabled."""
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Port = 8090
    """Port."""
    token_file: FilePath | None = None
    """File with the token in its first line; created at start if missing."""
    metrics_token: bool = False
    """Whether `/metrics` and `/health` need the token as well."""


class Log(Section):
    """The log on standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """Minimum level."""
    format: Literal["text", "json"] = "text"
    """Format of the lines: text or JSON."""
    lines: int = setting(default=50, ge=0)
    """Lines of one kind per ten seconds, below level error; more are only counted. 0 for no
    limit."""


class Trace(Section):
    """Traces of the messages whose publisher sends a User Property `traceparent`."""

    endpoint: str | None = None
    """An OTLP/HTTP collector, such as `http://127.0.0.1:4318`."""
    service: str = "gossamer"
    """Service name in traces."""


class Config(Section):
    """`Config()` listens on 127.0.0.1:1883 and lets anyone on this machine in."""

    listener: tuple[Listener, ...] = setting(default=(Listener(),), min_length=1)
    """Where clients connect."""
    limits: Limits = Limits()
    """Limits on what a client may use."""
    rates: Rates = Rates()
    """Rate limits."""
    auth: AuthSection = AuthSection()
    """Authentication."""
    permissions: PermissionsSection = PermissionsSection()
    """Authorization."""
    store: StoreSection = StoreSection()
    """Durable state."""
    archive: ArchiveSection | None = None
    """The archive of messages; off by default."""
    mesh: MeshSection | None = None
    """The other brokers; none by default."""
    plus: Plus = Plus()
    """Subscriptions that compute (MQTT+)."""
    geo: Geo = Geo()
    """Positions and geofences."""
    vision: Vision = Vision()
    """Operators that process images."""
    sys: Sys = Sys()
    """The topics under `$SYS/`."""
    admin: Admin = Admin()
    """The HTTP API for operators."""
    log: Log = Log()
    """The log."""
    trace: Trace = Trace()
    """Traces for OpenTelemetry."""

    def limits_of(self, listener: Listener) -> Limits:
        """The limits in force on one listener."""
        if listener.limits is None:
            return self.limits
        own = {key: getattr(listener.limits, key) for key in listener.limits.stated}
        return self.limits.changed(**own)

    def methods_of(self, listener: Listener) -> tuple[str, ...]:
        """The ways to log in there, in order."""
        if listener.auth is not None:
            return listener.auth
        own = ("certificate",) if self.auth.certificate and listener.sees_certificates else ()
        return own + self.auth.configured

    def anonymous_on(self, listener: Listener) -> str:
        """`never`, `local` or `always`."""
        if listener.anonymous is not None:
            return listener.anonymous
        return "never" if self.methods_of(listener) else "local"

    def guards_origins(self, listener: Listener) -> bool:
        """Whether a browser gets in by where it is or what it holds, whatever page it shows."""
        return self.anonymous_on(listener) == "local" or "certificate" in self.methods_of(listener)
