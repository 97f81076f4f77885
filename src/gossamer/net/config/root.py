"""The whole configuration, as its sections; here are the small ones, by which it is watched and
operated: `[sys]`, `[admin]`, `[log]` and `[trace]`.
"""

from typing import Literal

from pydantic import Field

from gossamer.net.config.auth import Auth, Permissions
from gossamer.net.config.limits import Limits, Rates
from gossamer.net.config.listeners import Listener
from gossamer.net.config.mesh import Mesh
from gossamer.net.config.plus import Geo, Plus, Vision
from gossamer.net.config.section import Duration, FilePath, Port, Section
from gossamer.net.config.store import Archive, Store


class Sys(Section):
    """The broker's own topics under `$SYS/`."""

    interval: Duration = Field(
        default=10.0, description="Time between two updates; 0 for no updates."
    )


class Admin(Section):
    """The admin HTTP API. It uses plain HTTP: keep it on this machine."""

    enabled: bool = Field(default=False, description="Whether it is enabled.")
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: Port = Field(default=8090, description="Port.")
    token_file: FilePath | None = Field(
        default=None,
        description="File with the token in its first line; created at start if missing.",
    )
    metrics_token: bool = Field(
        default=False, description="Whether `/metrics` and `/health` need the token as well."
    )


class Log(Section):
    """The log on standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Minimum level."
    )
    format: Literal["text", "json"] = Field(
        default="text", description="Format of the lines: text or JSON."
    )
    lines: int = Field(
        default=50,
        ge=0,
        description="Lines of one kind per ten seconds, below level error; more are only "
        "counted. 0 for no limit.",
    )


class Trace(Section):
    """Traces of the messages whose publisher sends a User Property `traceparent`."""

    endpoint: str | None = Field(
        default=None,
        description="An OTLP/HTTP collector, such as `http://127.0.0.1:4318`.",
    )
    service: str = Field(default="gossamer", description="Service name in traces.")


class Config(Section):
    """`Config()` listens on 127.0.0.1:1883 and lets anyone on this machine in."""

    listener: tuple[Listener, ...] = Field(
        default=(Listener(),), min_length=1, description="Where clients connect."
    )
    limits: Limits = Field(default=Limits(), description="Limits on what a client may use.")
    rates: Rates = Field(default=Rates(), description="Rate limits.")
    auth: Auth = Field(default=Auth(), description="Authentication.")
    permissions: Permissions = Field(default=Permissions(), description="Authorization.")
    store: Store = Field(default=Store(), description="Durable state.")
    archive: Archive | None = Field(
        default=None, description="The archive of messages; off by default."
    )
    mesh: Mesh | None = Field(default=None, description="The other brokers; none by default.")
    plus: Plus = Field(default=Plus(), description="Subscriptions that compute (MQTT+).")
    geo: Geo = Field(default=Geo(), description="Positions and geofences.")
    vision: Vision = Field(default=Vision(), description="Operators that process images.")
    sys: Sys = Field(default=Sys(), description="The topics under `$SYS/`.")
    admin: Admin = Field(default=Admin(), description="The HTTP API for operators.")
    log: Log = Field(default=Log(), description="The log.")
    trace: Trace = Field(default=Trace(), description="Traces for OpenTelemetry.")

    def limits_of(self, listener: Listener) -> Limits:
        """The limits in force on one listener."""
        if listener.limits is None:
            return self.limits
        own = {key: getattr(listener.limits, key) for key in listener.limits.model_fields_set}
        return self.limits.model_copy(update=own)

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
