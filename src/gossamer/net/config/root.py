"""The whole configuration, as its sections."""

from pathlib import Path
from typing import Any

from pydantic import Field

from gossamer.net.config.archive import Archive
from gossamer.net.config.auth import Auth
from gossamer.net.config.geo import Geo
from gossamer.net.config.limits import Limits
from gossamer.net.config.listeners import Listener
from gossamer.net.config.mesh import Mesh
from gossamer.net.config.observe import Admin, Log, Sys, Trace
from gossamer.net.config.permissions import Permissions
from gossamer.net.config.plus import Plus
from gossamer.net.config.rates import Rates
from gossamer.net.config.section import Section
from gossamer.net.config.store import Store
from gossamer.net.config.vision import Vision


class Config(Section):
    """`Config()` listens on 127.0.0.1:1883 and lets anyone on this machine in."""

    listener: tuple[Listener, ...] = Field(
        default=(Listener(),), min_length=1, description="The places where clients connect."
    )
    limits: Limits = Field(default=Limits(), description="Bounds on what a client may take.")
    rates: Rates = Field(default=Rates(), description="Bounds on how fast it may be.")
    auth: Auth = Field(default=Auth(), description="Who a client is.")
    permissions: Permissions = Field(default=Permissions(), description="What it may do.")
    store: Store = Field(default=Store(), description="What survives a restart.")
    archive: Archive | None = Field(
        default=None, description="What is kept of the messages; nothing by default."
    )
    mesh: Mesh | None = Field(default=None, description="The other brokers; none by default.")
    plus: Plus = Field(default=Plus(), description="Subscriptions that compute (MQTT+).")
    geo: Geo = Field(default=Geo(), description="Positions and geofences.")
    vision: Vision = Field(default=Vision(), description="Operators that look at images.")
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

    def at(self, folder: Path) -> "Config":
        """With every path taken relative to `folder`."""
        auth = _relative(self.auth, folder, ("password_file", "scram_file"))
        if auth.jwt is not None:
            auth = auth.model_copy(update={"jwt": _relative(auth.jwt, folder, ("key",))})
        return self.model_copy(
            update={
                "listener": tuple(listener.at(folder) for listener in self.listener),
                "auth": auth,
                "permissions": _relative(self.permissions, folder, ("file",)),
                "store": _relative(self.store, folder, ("folder",)),
                "admin": _relative(self.admin, folder, ("token_file",)),
                "archive": None if self.archive is None else self.archive.at(folder),
                "vision": self.vision.at(folder),
                "mesh": None if self.mesh is None else self.mesh.at(folder),
            }
        )


def _relative(section: Any, folder: Path, keys: tuple[str, ...]) -> Any:
    paths = {key: folder / value for key in keys if (value := getattr(section, key)) is not None}
    return section.model_copy(update=paths)
