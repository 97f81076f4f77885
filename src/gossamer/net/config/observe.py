"""`[sys]`, `[admin]`, `[log]` and `[trace]`: how the broker is watched and operated."""

from typing import Literal

from pydantic import Field

from gossamer.net.config.section import Duration, FilePath, Port, Section


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
