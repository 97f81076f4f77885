"""What a console is told at its start: which brokers, where it listens, what it may do."""

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Final

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8080


@dataclass(frozen=True)
class WatchedBroker:
    """One broker: its admin API with the token, and its MQTT listener with the login."""

    admin_host: str
    admin_port: int
    token: str
    mqtt_url: str
    username: str | None = None
    password: str | None = None

    @property
    def admin_url(self) -> str:
        host = f"[{self.admin_host}]" if ":" in self.admin_host else self.admin_host
        return f"http://{host}:{self.admin_port}"


@dataclass(frozen=True)
class ConsoleSettings:
    """`token` is what a person signs in with, `code` what one link does that once; `lake` is the
    folder of a pipeline, if there is one.

    `controls` lets people cut and heal links, which is for demonstrations.
    """

    brokers: tuple[WatchedBroker, ...]
    token: str
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    lake: Path | None = None
    controls: bool = False
    code: str = ""

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
