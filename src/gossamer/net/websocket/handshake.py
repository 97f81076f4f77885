"""The opening handshake: one HTTP request in, `101 Switching Protocols` or a refusal out."""

import base64
import binascii
import hashlib
import ipaddress
from typing import Final
from urllib.parse import urlsplit

LARGEST_REQUEST: Final = 16384  # A browser's cookies fit; nothing is kept of a longer one.
ACCEPT_SUFFIX: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3
SUBPROTOCOLS: Final = ("mqtt", "mqttv3.1")  # The second is what clients of MQTT 3.1 offer.
END_OF_REQUEST: Final = b"\r\n\r\n"
ANY_ORIGIN: Final = "*"
LONGEST_ORIGIN_SHOWN: Final = 200

STATUS: Final[dict[int, str]] = {
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    426: "Upgrade Required",
    431: "Request Header Fields Too Large",
}


class HandshakeRefused(Exception):
    """The request is not one to upgrade; `response` says so in HTTP."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        extra = "Sec-WebSocket-Version: 13\r\nUpgrade: websocket\r\n" if status == 426 else ""
        body = text + "\n"
        self.response = (
            f"HTTP/1.1 {status} {STATUS[status]}\r\n{extra}Connection: close\r\n"
            f"Content-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        ).encode()


class HandshakePolicy:
    """What a listener accepts: the path, and the origins of web pages.

    With `origins` only pages of these may connect. Without, pages of any may, unless the listener
    is `guarded`: it lets clients in by where they are or by what their browser holds, and then
    every page that somebody opens would come in. `*` among the origins stands for all.
    """

    __slots__ = ("is_guarded", "origins", "path")

    def __init__(
        self, path: str = "/mqtt", origins: tuple[str, ...] = (), is_guarded: bool = False
    ) -> None:
        self.path = path
        self.origins = frozenset(origin.lower() for origin in origins)
        self.is_guarded = is_guarded

    def allows(self, origin: str, host: str) -> bool:
        """Whether a page of that origin may connect; "" is no page, since browsers name theirs."""
        if not origin or ANY_ORIGIN in self.origins or origin.lower() in self.origins:
            return True
        if not self.origins and not self.is_guarded:
            return True
        return is_same_origin(origin, host)


def is_same_origin(origin: str, host: str) -> bool:
    """Whether the page came from where it connects to, by an address or as `localhost`.

    Any other name could be made to point here after the page was loaded.
    """
    try:
        page = urlsplit(origin)
        name = page.hostname or ""
    except ValueError:
        return False
    return page.netloc.lower() == host.lower() and (name == "localhost" or is_address(name))


def is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def answer(request: bytes, policy: HandshakePolicy) -> bytes:
    """The response that upgrades the connection; HandshakeRefused if it cannot be."""
    try:
        first, *rest = request.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        method, target, version = first.split(" ")
        headers = _headers(rest)
    except ValueError as error:
        raise HandshakeRefused(400, "not an HTTP request") from error
    if method != "GET":
        raise HandshakeRefused(405, "a WebSocket starts with GET")
    if version != "HTTP/1.1" or not headers.get("host"):
        raise HandshakeRefused(400, "a WebSocket needs HTTP/1.1 and a Host header")
    if target.partition("?")[0] != policy.path:
        raise HandshakeRefused(404, f"MQTT is at {policy.path}")
    if "websocket" not in _list(headers, "upgrade") or "upgrade" not in _list(
        headers, "connection"
    ):
        raise HandshakeRefused(426, "only WebSocket is spoken here")
    if headers.get("sec-websocket-version") != "13":
        raise HandshakeRefused(426, "only WebSocket version 13 is spoken here")
    origin = headers.get("origin", "")
    if not policy.allows(origin, headers["host"]):
        is_plain = origin.isascii() and origin.isprintable()
        page = f"pages of {origin[:LONGEST_ORIGIN_SHOWN] if is_plain else 'this origin'}"
        raise HandshakeRefused(403, f"{page} may not connect; see origins of [[listener]]")
    chosen = [name for name in SUBPROTOCOLS if name in _list(headers, "sec-websocket-protocol")]
    if not chosen:  # [MQTT-6.0.0-3]
        raise HandshakeRefused(400, "the subprotocol mqtt must be offered")
    return (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {_accept(headers.get('sec-websocket-key', ''))}\r\n"
        f"Sec-WebSocket-Protocol: {chosen[0]}\r\n\r\n"  # [MQTT-6.0.0-4]
    ).encode()


def _headers(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise ValueError("not a header")
        name, value = name.lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _list(headers: dict[str, str], name: str) -> list[str]:
    return [item.strip().lower() for item in headers.get(name, "").split(",")]


def _accept(key: str) -> str:
    try:
        if len(base64.b64decode(key, validate=True)) != 16:
            raise HandshakeRefused(400, "Sec-WebSocket-Key must be 16 bytes")
    except (binascii.Error, ValueError) as error:
        raise HandshakeRefused(400, "Sec-WebSocket-Key must be base64") from error
    digest = hashlib.sha1(key.encode() + ACCEPT_SUFFIX, usedforsecurity=False).digest()
    return base64.b64encode(digest).decode()
