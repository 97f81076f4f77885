"""`[sys]`, `[admin]`, `[log]` and `[trace]`: how the broker is watched and operated."""

from typing import Literal

from pydantic import Field

from gossamer.net.config.section import Section
from gossamer.net.config.units import Duration, FilePath, Port


class Sys(Section):
    """The broker's own topics under `$SYS/`."""

    interval: Duration = Field(
        default=10.0, description="Time between two updates; 0 for none at all."
    )


class Admin(Section):
    """The HTTP API for operators. It speaks plain HTTP: keep it on this machine."""

    enabled: bool = Field(default=False, description="Whether it listens.")
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: Port = Field(default=8090, description="Port.")
    token_file: FilePath | None = Field(
        default=None,
        description="File whose first line is the token; made at the start where it is missing.",
    )
    metrics_token: bool = Field(
        default=False, description="Whether `/metrics` and `/health` need the token as well."
    )


class Log(Section):
    """What is written to the standard error stream."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least level."
    )
    format: Literal["text", "json"] = Field(
        default="text", description="Lines for people or machines."
    )
    lines: int = Field(
        default=50,
        ge=0,
        description="Lines of one kind in ten seconds, below errors; more are counted. 0 for all.",
    )


class Trace(Section):
    """Traces of the messages whose publisher sends a User Property `traceparent`."""

    endpoint: str | None = Field(
        default=None,
        description="A collector of OTLP over HTTP, such as `http://127.0.0.1:4318`.",
    )
    service: str = Field(default="gossamer", description="This broker's name there.")
