"""HTTP/1.1, as little as an API needs: one request a connection, bounded in size and in time.

Until a request has shown its token its connection has only a place among strangers, which it loses
to others when there are many. A connection that does not take its answer in time is cut off.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from gossamer.net.login_slots import LoginSlots

logger = logging.getLogger(__name__)

LONGEST_HEAD: Final = 16384
LONGEST_BODY: Final = 65536
REQUEST_SECONDS: Final = 10.0
METHODS: Final = ("GET", "POST", "DELETE")


class HttpError(Exception):
    """An answer that is not 2xx."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class HttpRequest:
    """What was asked; `path` is split at the slashes, each part decoded. Whoever answers calls
    `admit` once the request has shown that it may ask."""

    __slots__ = ("address", "admit", "body", "headers", "method", "path", "query")

    def __init__(
        self,
        method: str,
        path: tuple[str, ...],
        query: dict[str, str],
        headers: dict[str, str],
        address: str,
        body: bytes = b"",
    ) -> None:
        self.body = body
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.address = address
        self.admit: Callable[[], None] = lambda: None


class Response:
    """What is answered."""

    __slots__ = ("body", "content_type", "status")

    def __init__(
        self, body: bytes, content_type: str = "application/json", status: int = 200
    ) -> None:
        self.body = body
        self.content_type = content_type
        self.status = status

    @classmethod
    def json(cls, value: Any, status: int = 200) -> "Response":
        return cls(json.dumps(value, ensure_ascii=False).encode() + b"\n", status=status)

    def encode(self) -> bytes:
        head = (
            f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}\r\n"
            f"Content-Type: {self.content_type}\r\nContent-Length: {len(self.body)}\r\n"
            "Connection: close\r\nCache-Control: no-store\r\n"
            "X-Content-Type-Options: nosniff\r\n\r\n"
        )
        return head.encode() + self.body


Handler = Callable[[HttpRequest], Awaitable[Response]]


async def answer(
    handler: Handler,
    strangers: LoginSlots,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """One connection, from its request to its end."""
    address, loop = _address(writer), asyncio.get_running_loop()
    stranger = strangers.enter(address, loop.time(), writer.transport.abort)
    if stranger is None:
        writer.transport.abort()
        return
    writer.transport.set_write_buffer_limits(0)  # `drain` waits until the system has it all
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            try:
                request = await _read(reader, address)
                request.admit = lambda: strangers.leave(stranger)
                response = await handler(request)
            except HttpError as error:
                response = Response.json({"error": error.text}, error.status)
            except (asyncio.IncompleteReadError, ConnectionError):
                writer.close()
                return
            except Exception:
                logger.exception("an admin request failed")
                response = Response.json({"error": "internal error; see the log"}, 500)
            writer.write(response.encode())
            await writer.drain()
            writer.close()
    except (TimeoutError, ConnectionError):
        writer.transport.abort()  # with what was not taken, which `close` would wait for
    finally:
        strangers.leave(stranger)


async def _read(reader: asyncio.StreamReader, address: str) -> HttpRequest:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise HttpError(431, "the request is too long") from error
    try:
        first, *lines = head.decode("ascii").removesuffix("\r\n\r\n").split("\r\n")
        method, target, version = first.split(" ")
        headers = dict(_header(line) for line in lines)
        length = int(headers.get("content-length", "0"))
        parts = urlsplit(target)
        query = dict(
            parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        )
        path = tuple(unquote(part, errors="strict") for part in parts.path.split("/")[1:])
    except ValueError as error:
        raise HttpError(400, "not an HTTP request") from error
    if not version.startswith("HTTP/1.") or not target.startswith("/"):
        raise HttpError(400, "not an HTTP/1.1 request")
    if method not in METHODS:
        raise HttpError(405, f"only {', '.join(METHODS)}")
    if "transfer-encoding" in headers or not 0 <= length <= LONGEST_BODY:
        raise HttpError(413, f"a body has its Content-Length, {LONGEST_BODY} bytes at most")
    body = await reader.readexactly(length)  # read in any case: it must not be the next request
    return HttpRequest(method, path, query, headers, address, body)


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not name or name != name.strip():
        raise ValueError("not a header")
    return name.lower(), value.strip()


def _address(writer: asyncio.StreamWriter) -> str:
    peer = writer.get_extra_info("peername")
    return str(peer[0]) if isinstance(peer, tuple) else ""
