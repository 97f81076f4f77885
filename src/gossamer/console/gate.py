"""The gate before everything the console serves: no key, nothing but the form to get one.

It stands before pages, files and WebSockets alike. Requests under a foreign name (a page elsewhere
that makes its own name point here) and from foreign origins are refused even with a key.
"""

import time
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer.console.settings import is_loopback
from gossamer.console.sign_ins import SignIns

COOKIE: Final = "gossamer_console_{port}"  # browsers share cookies between the ports of a host
SIGN_IN_PATH: Final = "/sign-in"
POLICY_VIOLATION: Final = 1008  # the close code of a WebSocket that is not wanted
SAFE_METHODS: Final = ("GET", "HEAD")
HEADERS: Final = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
]


class Gate:
    """`is_local`: only names of this machine are good in the Host header."""

    def __init__(self, app: ASGIApp, sign_ins: SignIns, is_local: bool) -> None:
        self._app = app
        self._sign_ins = sign_ins
        self._is_local = is_local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
        else:
            await refusal(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if self._is_local and not is_loopback(_name(headers.get("host", ""))):
            return PlainTextResponse(
                "this console accepts connections from its own machine only", 421
            )
        is_safe = scope["type"] == "http" and scope["method"] in SAFE_METHODS
        if not is_safe and not _same_origin(headers):
            return PlainTextResponse("requests from other sites are not accepted", 403)
        if scope["path"] == SIGN_IN_PATH and scope["type"] == "http":
            return None
        if self._sign_ins.holds(key_in(scope), time.monotonic()):
            return None
        return RedirectResponse(SIGN_IN_PATH, 303)


def cookie_name(scope: Scope) -> str:
    """Of the console that is asked."""
    server = scope.get("server")
    return COOKIE.format(port=server[1] if server else 0)


def key_in(scope: Scope) -> str:
    """The key that the browser shows; empty if none."""
    try:
        morsel = SimpleCookie(Headers(scope=scope).get("cookie", "")).get(cookie_name(scope))
    except CookieError:
        return ""
    return "" if morsel is None else morsel.value


def _name(host: str) -> str:
    return urlsplit(f"//{host}").hostname or ""


def _same_origin(headers: Headers) -> bool:
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *HEADERS]
        await send(message)

    return sending
