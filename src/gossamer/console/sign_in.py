"""Who may see the console: keys for those who know the admin token (or have the link that signs in
once), the form that asks for it, and the gate before everything else.

Keys live in memory only, so a restart signs everybody out; there are few at a time, and one that
is not used for a while is worth nothing. The gate stands before pages, files and WebSockets alike;
requests under a foreign name (a page elsewhere that makes its own name point here) and from foreign
origins are refused even with a key.
"""

import hmac
import secrets
import time
from collections.abc import Callable
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer.broker.rates import AddressRates
from gossamer.console.settings import is_loopback

IDLE_SECONDS: Final = 12 * 3600.0
MOST_KEYS: Final = 64  # people at one console; the one that was away longest gives way

# Wrong tokens from one address: so many at once, then one every ten seconds. The right one is taken
# all the same: it is too long to be guessed, and others may share its address.
WRONG_TOKENS: Final = 10
WRONG_TOKENS_PER_SECOND: Final = 0.1


class TooManyTries(Exception):
    """A wrong token, from an address that was wrong too often."""


class SignIns:
    """The keys in force. The time is passed in.

    `code` gives a key once, to whoever shows it first: it is for a link in the terminal where the
    console was started, so that nobody has to copy the token.
    """

    def __init__(self, token: str, code: str = "") -> None:
        self._token = token.encode()
        self._code = code.encode()
        self._used_at: dict[str, float] = {}
        self._failures = AddressRates(WRONG_TOKENS_PER_SECOND, WRONG_TOKENS)

    def sign_in(self, token: str, address: str, now: float) -> str | None:
        """A new key, or None for a wrong token; TooManyTries after many of them."""
        if not hmac.compare_digest(token.strip().encode(), self._token):
            self._count_failure(address, now)
            return None
        return self._new_key(now)

    def sign_in_once(self, code: str, address: str, now: float) -> str | None:
        """Likewise, by the code; it is worth nothing afterwards."""
        if not self._code or not hmac.compare_digest(code.encode(), self._code):
            self._count_failure(address, now)
            return None
        self._code = b""
        return self._new_key(now)

    def _count_failure(self, address: str, now: float) -> None:
        if not self._failures.allows(address, now):
            raise TooManyTries

    def _new_key(self, now: float) -> str:
        while len(self._used_at) >= MOST_KEYS:
            del self._used_at[min(self._used_at, key=self._used_at.__getitem__)]
        key = secrets.token_urlsafe(32)
        self._used_at[key] = now
        return key

    def holds(self, key: str, now: float) -> bool:
        """Whether the key is good; using it keeps it so."""
        used_at = self._used_at.get(key)
        if used_at is None:
            return False
        if now - used_at > IDLE_SECONDS:
            del self._used_at[key]
            return False
        self._used_at[key] = now
        return True

    def sign_out(self, key: str) -> None:
        self._used_at.pop(key, None)


COOKIE: Final = "gossamer_console_{port}"  # browsers share cookies between the ports of a host
SIGN_IN_PATH: Final = "/sign-in"
CODE: Final = "code"  # the parameter of a link that signs in once
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


LONGEST_FORM: Final = 4096
WRONG: Final = "Wrong admin token."
SPENT: Final = "This link has been used, or is from an earlier start of the console."
WAIT: Final = "Too many wrong tokens from this address. Try again later."

PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Sign in · Gossamer</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; --ground: #f8fafc; --surface: #fff; --ink: #0f172a;
  --quiet: #64748b; --line: #e2e8f0; --accent: #0f766e; }
@media (prefers-color-scheme: dark) { :root { --ground: #0a101c; --surface: #111a2b;
  --ink: #e2e8f0; --quiet: #94a3b8; --line: #24324a; --accent: #0d9488; } }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem;
  box-sizing: border-box; background: var(--ground); color: var(--ink);
  font-family: system-ui, sans-serif; }
form { width: min(23rem, 100%); background: var(--surface); border: 1px solid var(--line);
  border-radius: 12px; padding: 2rem; box-sizing: border-box; }
h1 { margin: 0 0 .25rem; font-size: 1.35rem; } p { color: var(--quiet); font-size: .9rem; }
label { display: block; font-size: .85rem; margin: 1rem 0 .35rem; }
input { width: 100%; box-sizing: border-box; padding: .6rem; border-radius: 8px; font: inherit;
  border: 1px solid var(--line); background: var(--ground); color: inherit; }
button { margin-top: 1rem; width: 100%; padding: .65rem; border: 0; border-radius: 8px;
  font: inherit; font-weight: 600; background: var(--accent); color: #fff; cursor: pointer; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.wrong { color: #dc2626; }
</style></head><body>
<form method="post" action="/sign-in"><h1>Gossamer</h1>
<p>Sign in with the admin token of the brokers. <code>gossamer serve</code> prints where the file
with the token is when it starts.</p>
<label for="token">Admin token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<div role="alert" class="wrong">WORDS</div>
<button type="submit">Sign in</button></form></body></html>"""


def routes(sign_ins: SignIns) -> list[Route]:
    """`/sign-in` and `/sign-out`."""

    async def ask(request: Request) -> Response:
        code = request.query_params.get(CODE, "")
        if not code:
            return _form("")
        return _answer(request, sign_ins.sign_in_once, code, SPENT)

    async def sign_in(request: Request) -> Response:
        async with request.form(max_files=0, max_fields=1, max_part_size=LONGEST_FORM) as form:
            token = str(form.get("token", ""))
        return _answer(request, sign_ins.sign_in, token, WRONG)

    async def sign_out(request: Request) -> Response:
        sign_ins.sign_out(key_in(request.scope))
        response = RedirectResponse(SIGN_IN_PATH, 303)
        response.delete_cookie(cookie_name(request.scope))
        return response

    return [
        Route(SIGN_IN_PATH, ask, methods=["GET"]),
        Route(SIGN_IN_PATH, sign_in, methods=["POST"]),
        Route("/sign-out", sign_out, methods=["POST"]),
    ]


def _answer(
    request: Request,
    give_key: Callable[[str, str, float], str | None],
    secret: str,
    refusal: str,
) -> Response:
    """To the console with a key, or to the form with the reason."""
    address = request.client.host if request.client is not None else ""
    try:
        key = give_key(secret, address, time.monotonic())
    except TooManyTries:
        return _form(WAIT, 429)
    if key is None:
        return _form(refusal, 403)
    response = RedirectResponse("/", 303)
    name = cookie_name(request.scope)
    response.set_cookie(name, key, int(IDLE_SECONDS), httponly=True, samesite="strict")
    return response


def _form(words: str, status: int = 200) -> Response:
    return HTMLResponse(PAGE.replace("WORDS", escape(words)), status, {"cache-control": "no-store"})
