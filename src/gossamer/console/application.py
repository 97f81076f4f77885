"""The console as a web application, and the server that runs it."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import uvicorn
from fastapi import FastAPI
from nicegui import ui
from starlette.types import ASGIApp

from gossamer.console.console import Console
from gossamer.console.pages.frame import frame
from gossamer.console.pages.menu import PAGES, MenuPage
from gossamer.console.settings import ConsoleSettings
from gossamer.console.sign_in import Gate, routes

BACKLOG: Final = 64
STOP_SECONDS: Final = 2  # open pages are told to go after that
# A person who comes back to a page finds it as it was for so long.
RECONNECT_SECONDS: Final = 10.0
FAVICON: Final = "🕸️"


def application(console: Console) -> ASGIApp:
    """Everything behind the gate."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await console.start()
        yield
        await console.stop()

    app = FastAPI(lifespan=lifespan, openapi_url=None, docs_url=None, redoc_url=None)
    app.router.routes.extend(routes(console.sign_ins))
    for page in PAGES:
        ui.page(page.path, title=f"{page.title} · Gossamer")(partial(_show, console, page))
    ui.run_with(
        app,
        title="Gossamer",
        favicon=FAVICON,
        dark=None,
        reconnect_timeout=RECONNECT_SECONDS,
        show_welcome_message=False,
    )
    return Gate(app, console.sign_ins, console.settings.is_local)


def _show(console: Console, page: MenuPage) -> None:
    with frame(console, page):
        page.build(console)


def bind(settings: ConsoleSettings) -> socket.socket:
    """The listening socket; OSError if the place is taken."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening


class ConsoleServer:
    """Serves until it is told to stop, or until Ctrl-C or SIGTERM."""

    def __init__(self, settings: ConsoleSettings, listening: socket.socket) -> None:
        config = uvicorn.Config(
            application(Console(settings)),
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=STOP_SECONDS,
            lifespan="on",
        )
        self._server = uvicorn.Server(config)
        self._listening = listening

    async def serve(self) -> None:
        await self._server.serve([self._listening])

    def stop(self) -> None:
        self._server.should_exit = True
