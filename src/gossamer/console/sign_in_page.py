"""The form to sign in: plain HTML, since a stranger gets nothing else from us."""

import time
from html import escape
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from gossamer.console.gate import SIGN_IN_PATH, cookie_name, key_in
from gossamer.console.sign_ins import IDLE_SECONDS, SignIns, TooManyTries

LONGEST_FORM: Final = 4096
WRONG: Final = "Wrong admin token."
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
        return _form("")

    async def sign_in(request: Request) -> Response:
        async with request.form(max_files=0, max_fields=1, max_part_size=LONGEST_FORM) as form:
            token = str(form.get("token", ""))
        address = request.client.host if request.client is not None else ""
        try:
            key = sign_ins.sign_in(token, address, time.monotonic())
        except TooManyTries:
            return _form(WAIT, 429)
        if key is None:
            return _form(WRONG, 403)
        response = RedirectResponse("/", 303)
        name = cookie_name(request.scope)
        response.set_cookie(name, key, int(IDLE_SECONDS), httponly=True, samesite="strict")
        return response

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


def _form(words: str, status: int = 200) -> Response:
    return HTMLResponse(PAGE.replace("WORDS", escape(words)), status, {"cache-control": "no-store"})
