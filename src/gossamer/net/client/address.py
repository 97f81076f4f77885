"""Where a broker is, as a URL: mqtt, mqtts, ws, wss or unix."""

from typing import Final, NamedTuple
from urllib.parse import urlsplit

DEFAULT_PORTS: Final = {"mqtt": 1883, "mqtts": 8883, "ws": 80, "wss": 443}

_ENCRYPTED: Final = frozenset({"mqtts", "wss"})
_WEBSOCKET: Final = frozenset({"ws", "wss"})


class Address(NamedTuple):
    """`path` is the socket's file for unix, the resource for WebSocket, else empty."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def encrypted(self) -> bool:
        return self.scheme in _ENCRYPTED

    @property
    def websocket(self) -> bool:
        return self.scheme in _WEBSOCKET


def parse_address(url: str) -> Address:
    """`mqtt://host:port`, `ws://host:port/mqtt`, `unix:/path`; plain `host:port` is mqtt."""
    has_scheme = "://" in url or url.startswith("unix:/")
    parts = urlsplit(url if has_scheme else f"mqtt://{url}")
    if parts.scheme == "unix":
        if not parts.path:
            raise ValueError(f"{url}: a unix address needs a path, as in unix:///run/broker.sock")
        return Address("unix", "", 0, parts.path)
    if parts.scheme not in DEFAULT_PORTS:
        known = ", ".join((*DEFAULT_PORTS, "unix"))
        raise ValueError(f"{url}: unknown scheme {parts.scheme!r}; known are {known}")
    if not parts.hostname:
        raise ValueError(f"{url}: no host")
    path = (parts.path or "/mqtt") if parts.scheme in _WEBSOCKET else ""
    return Address(parts.scheme, parts.hostname, parts.port or DEFAULT_PORTS[parts.scheme], path)
