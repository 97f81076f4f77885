"""The whole configuration, as its sections."""

from pydantic import Field

from gossamer.net.config.auth import Auth, Permissions
from gossamer.net.config.limits import Limits, Rates
from gossamer.net.config.listeners import Listener
from gossamer.net.config.mesh import Mesh
from gossamer.net.config.observe import Admin, Log, Sys, Trace
from gossamer.net.config.plus import Geo, Plus, Vision
from gossamer.net.config.section import Section
from gossamer.net.config.store import Archive, Store


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
