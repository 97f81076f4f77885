"""The server's side of one WebSocket: an HTTP request in, `101` or a refusal out, then frames."""

import ipaddress
import logging
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from websockets.datastructures import Headers
from websockets.exceptions import NegotiationError
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from gossamer.net.websocket.frames import FrameError, FrameStream

LARGEST_REQUEST: Final = 16384  # A browser's cookies fit; nothing is kept of a longer one.
SUBPROTOCOLS: Final = ("mqtt", "mqttv3.1")  # The second is what clients of MQTT 3.1 offer.
END_OF_HEAD: Final = b"\r\n\r\n"
ANY_ORIGIN: Final = "*"
LONGEST_ORIGIN_SHOWN: Final = 200

JUDGED_BY_LIBRARY: Final = ("connection", "upgrade", "sec-websocket-")

# The library would note every handshake; what strangers send is not for our log.
SILENT: Final = logging.Logger("websockets", logging.CRITICAL + 1)


class HandshakePolicy:
    """What a listener accepts: the path ("" is any), and the origins of web pages.

    With `origins` only pages of these may connect. Without, pages of any may, unless the listener
    is `guarded`: it lets clients in by where they are or by what their browser holds, and then
    every page that somebody opens would come in. `*` among the origins stands for all.
    """

    __slots__ = ("is_guarded", "origins", "path")

    def __init__(
        self, path: str = "", origins: tuple[str, ...] = (), is_guarded: bool = False
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


TOO_LONG: Final = Response(
    431,
    "Request Header Fields Too Large",
    Headers(Connection="close"),
    b"the request is too long\n",
)


class WebSocketServer(FrameStream):
    """Starts with the handshake; `is_open` tells when frames may be sent."""

    __slots__ = ("_policy", "is_open", "refusal")

    def __init__(self, policy: HandshakePolicy) -> None:
        super().__init__(masks=False)
        self._policy = policy
        self.is_open = False
        self.refusal = ""  # why it was closed from our side

    def receive(self, data: bytes) -> bytes:
        """MQTT bytes in what has arrived; answers go to `output`."""
        if self.closing:
            return b""
        if not self.is_open:
            data = self._shake_hands(data)
            if not self.is_open:
                return b""
        try:
            return self.read(data)
        except FrameError as error:
            self.close(error.code)
            self.refusal = str(error)
        return b""

    def close(self, code: int = 1000) -> None:
        if self.is_open:
            super().close(code)
        self.closing = True

    def _shake_hands(self, data: bytes) -> bytes:
        """What follows the request, once all of it has come."""
        self._buffer += data
        request, end, rest = self._buffer.partition(END_OF_HEAD)
        if not end and len(self._buffer) <= LARGEST_REQUEST:
            return b""
        self._buffer = b""
        response = answer(request + end, self._policy) if end else TOO_LONG
        self.output += response.serialize()
        self.is_open = response.status_code == 101
        if not self.is_open:
            self.closing = True
            self.refusal = response.body.decode().strip()
        return rest


def answer(head: bytes, policy: HandshakePolicy) -> Response:
    """The response that upgrades the connection, or says why it is not."""
    protocol = _Handshake(logger=SILENT)
    try:
        status, text = _judge_line(head.partition(b"\r\n")[0])
        if status:
            return protocol.reject(status, text + "\n")
        protocol.receive_data(head)
        request = next(iter(protocol.events_received()), None)
        if not isinstance(request, Request):
            return protocol.reject(400, "not an HTTP request\n")
        status, text = _judge(request, policy)
        response = protocol.reject(status, text + "\n") if status else protocol.accept(request)
        if response.status_code == 426:
            response.headers.pop("Upgrade", None)
            response.headers.update({"Upgrade": "websocket", "Sec-WebSocket-Version": "13"})
        return response
    finally:
        protocol.parser.close()  # it and the protocol hold each other


class _Handshake(ServerProtocol):
    def select_subprotocol(self, subprotocols: Sequence[Subprotocol]) -> Subprotocol:
        offered = {name.lower() for name in subprotocols}
        for name in SUBPROTOCOLS:
            if name in offered:
                return Subprotocol(name)  # [MQTT-6.0.0-4]
        raise NegotiationError("the subprotocol mqtt must be offered")  # [MQTT-6.0.0-3]


def _judge_line(line: bytes) -> tuple[int, str]:
    """The status and the text that refuse a request by its first line; 0 for none.

    Versions of the library differ in whether they answer these, and how.
    """
    method, _, rest = line.partition(b" ")
    if not rest.endswith(b" HTTP/1.1"):
        return 400, "a WebSocket starts with a request of HTTP/1.1"
    return (0, "") if method == b"GET" else (405, "a WebSocket starts with GET")


def _judge(request: Request, policy: HandshakePolicy) -> tuple[int, str]:
    """The status and the text that refuse it for what the library does not know; 0 for none."""
    headers = request.headers
    for name, value in headers.raw_items():
        if name.lower().startswith(JUDGED_BY_LIBRARY) and not value.isascii():
            return 400, f"{name} must be ASCII"  # the library quotes it, and could not
    host = ", ".join(headers.get_all("Host"))
    if not host:
        return 400, "a WebSocket needs a Host header"
    if policy.path and request.path.partition("?")[0] != policy.path:
        return 404, f"MQTT is at {policy.path}"
    if "Upgrade" in headers and headers.get_all("Sec-WebSocket-Version") != ["13"]:
        return 426, "only WebSocket version 13 is spoken here"
    origin = ", ".join(headers.get_all("Origin"))
    if not policy.allows(origin, host):
        is_plain = origin.isascii() and origin.isprintable()
        page = f"pages of {origin[:LONGEST_ORIGIN_SHOWN] if is_plain else 'this origin'}"
        return 403, f"{page} may not connect; see origins of [[listener]]"
    return 0, ""
