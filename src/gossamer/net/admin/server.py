"""The admin listener: routes joined to the broker, behind a token."""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable
from typing import Final

from gossamer import __version__
from gossamer.broker.broker import Broker
from gossamer.broker.rates import AddressRates
from gossamer.net.admin import mesh_views, place_views, views
from gossamer.net.admin.http import LONGEST_HEAD, HttpError, Request, Response, answer
from gossamer.net.admin.metrics import CONTENT_TYPE, exposition
from gossamer.net.admin.routes import Route, find, openapi
from gossamer.net.admin.tokens import is_authorized
from gossamer.net.clock import Clock
from gossamer.net.config import ConfigError
from gossamer.net.config.observe import Admin
from gossamer.net.peering import Dialler, Peering
from gossamer.net.strangers import Strangers

# Wrong tokens of one address: so many at once, then one every ten seconds; more are told to wait
# and not logged. It cannot keep out the right token, whoever else uses its address: a token is too
# long to be guessed, at any rate.
WRONG_TOKENS: Final = 10
WRONG_TOKENS_PER_SECOND: Final = 0.1

logger = logging.getLogger(__name__)

Reload = Callable[[], Awaitable[list[str]]]


# Of a broker to dial.
ADDRESS: Final = {"host": "Its host name or address.", "port": "The port of a listener."}


class AdminServer:
    """`broker` is looked at from the event loop's own thread, between two turns."""

    def __init__(
        self,
        broker: Broker,
        settings: Admin,
        token: str,
        reload: Reload,
        peering: Peering | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._broker = broker
        self._peering = peering
        self._clock = clock if clock is not None else Clock()
        self._core = broker.core
        self._settings = settings
        self._token = token
        self._reload = reload
        self.strangers = Strangers(patience=0.0)
        self._failures = AddressRates(WRONG_TOKENS_PER_SECOND, WRONG_TOKENS)
        self._server: asyncio.Server | None = None
        self.routes = self._routes()

    async def open(self) -> int:
        """Starts listening; the port in use. OSError if it cannot."""
        self._server = await asyncio.start_server(
            lambda reader, writer: answer(self.handle, self.strangers, reader, writer),
            self._settings.host,
            self._settings.port,
            limit=LONGEST_HEAD,
        )
        return int(self._server.sockets[0].getsockname()[1])

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def handle(self, request: Request) -> Response:
        """The answer to one request; HttpError for one that cannot be answered."""
        route, named = find(self.routes, request)
        if not route.is_open or self._settings.metrics_token:
            self._authorize(request)
            request.admit()
        return await route.call(request, **named)

    def _authorize(self, request: Request) -> None:
        if is_authorized(request.headers, self._token):
            return
        if "authorization" in request.headers:  # without it, it is no try
            if not self._failures.allows(request.address, time.monotonic()):
                raise HttpError(429, "too many wrong tokens; try later")
            logger.warning("the admin API was asked with a wrong token from %s", request.address)
        raise HttpError(401, "the token is missing or wrong (Authorization: Bearer …)")

    def _routes(self) -> list[Route]:
        text: dict[str, str] = {}
        one = "/v1/sessions/{client_id}"
        health = views.schema(status="string", version="string", uptime="number")
        done = views.schema(done="boolean")
        notes = views.schema(notes="string[]")
        filtered = {**views.PAGE, "filter": "A topic filter; # by default."}
        by_client = {**views.SEARCHED, "client_id": "Only this client's."}
        discard = {"discard": "true to end the session as well."}
        return [
            Route("GET", "/health", self._health, "Whether it is up.", health, is_open=True),
            Route("GET", "/metrics", self._metrics, "For Prometheus.", text, is_open=True),
            Route("GET", "/openapi.json", self._openapi, "This document.", {"type": "object"}),
            Route(
                "GET",
                "/v1/sessions",
                self._sessions,
                "All sessions.",
                views.listing(views.SESSION),
                views.SEARCHED,
            ),
            Route("GET", one, self._session, "One session.", views.SESSION),
            Route("DELETE", one, self._disconnect, "Disconnect a client.", done, discard),
            Route(
                "GET",
                "/v1/subscriptions",
                self._subscriptions,
                "Who subscribed to what.",
                views.listing(views.SUBSCRIPTION),
                by_client,
            ),
            Route(
                "GET",
                "/v1/retained",
                self._retained,
                "Retained messages.",
                views.listing(views.RETAINED),
                filtered,
            ),
            Route(
                "GET",
                "/v1/memory",
                self._memory,
                "What holds how much memory.",
                views.listing(views.MEMORY),
                views.PAGE,
            ),
            Route(
                "GET",
                "/v1/positions",
                self._positions,
                "Where clients are.",
                views.listing(place_views.POSITION),
                views.PAGE,
            ),
            Route(
                "GET",
                "/v1/fences",
                self._fences,
                "The areas that subscriptions are about.",
                views.listing(place_views.FENCE),
                views.PAGE,
            ),
            Route("GET", "/v1/mesh", self._mesh, "The neighbours.", mesh_views.MESH, views.PAGE),
            Route("POST", "/v1/mesh/peers", self._add_peer, "Dial one more.", done, ADDRESS),
            Route("DELETE", "/v1/mesh/peers", self._remove_peer, "Dial no more.", done, ADDRESS),
            Route("DELETE", "/v1/mesh/{name}", self._forget, "Forget a neighbour.", done),
            Route("POST", "/v1/mesh/{name}/cut", self._cut, "Take a link down.", done),
            Route("POST", "/v1/mesh/{name}/heal", self._heal, "Let it come up again.", done),
            Route("POST", "/v1/mesh/mode/{mode}", self._switch, "Change the mode.", done),
            Route(
                "GET",
                "/v1/mesh/choices",
                self._choices,
                "What mode auto chose.",
                views.listing(mesh_views.CHOICE),
                views.PAGE,
            ),
            Route("POST", "/v1/reload", self._reloaded, "Read the configuration again.", notes),
        ]

    async def _health(self, request: Request) -> Response:
        uptime = round(self._clock.now() - self._core.started_at, 3)
        faults = self._core.faults.total
        return Response.json(
            {"status": "ok", "version": __version__, "uptime": uptime, "internal_faults": faults}
        )

    async def _metrics(self, request: Request) -> Response:
        return Response(exposition(self._core), CONTENT_TYPE)

    async def _openapi(self, request: Request) -> Response:
        return Response.json(openapi(self.routes, __version__))

    async def _sessions(self, request: Request) -> Response:
        return Response.json(views.sessions(self._core, request.query))

    async def _session(self, request: Request, client_id: str) -> Response:
        return Response.json(views.one_session(self._core, client_id))

    async def _subscriptions(self, request: Request) -> Response:
        return Response.json(views.subscriptions(self._core, request.query))

    async def _retained(self, request: Request) -> Response:
        return Response.json(views.retained(self._core, request.query, self._clock.now()))

    async def _memory(self, request: Request) -> Response:
        return Response.json(views.memory(self._core, request.query))

    async def _positions(self, request: Request) -> Response:
        return Response.json(place_views.positions(self._core, request.query, self._clock.now()))

    async def _fences(self, request: Request) -> Response:
        return Response.json(place_views.fences(self._core, request.query, self._clock.now()))

    async def _disconnect(self, request: Request, client_id: str) -> Response:
        discard = request.query.get("discard", "false")
        if discard not in ("true", "false"):
            raise HttpError(400, "discard is true or false")
        if not self._broker.disconnect(client_id, self._clock.now(), discard == "true"):
            raise HttpError(404, f"there is no session {client_id}")
        return Response.json({"done": True})

    async def _mesh(self, request: Request) -> Response:
        return Response.json(mesh_views.mesh_view(self._core, request.query))

    async def _choices(self, request: Request) -> Response:
        return Response.json(mesh_views.choices_view(self._core, request.query))

    async def _switch(self, request: Request, mode: str) -> Response:
        now = self._clock.now()
        mesh_views.decide_mode(self._core, mode, now)
        self._broker.flush(now)
        return Response.json({"done": True})

    async def _forget(self, request: Request, name: str) -> Response:
        now = self._clock.now()
        if not mesh_views.mesh_in(self._core).neighbourhood.forget(name, now):
            raise HttpError(404, f"there is no neighbour {name}")
        self._broker.flush(now)
        return Response.json({"done": True})

    async def _cut(self, request: Request, name: str) -> Response:
        self._dialler(name).cut()
        return Response.json({"done": True})

    async def _heal(self, request: Request, name: str) -> Response:
        self._dialler(name).heal()
        return Response.json({"done": True})

    async def _add_peer(self, request: Request) -> Response:
        host, port = _address(request)
        if not self._all_peers().add(host, port):
            raise HttpError(409, f"{host}:{port} is dialled already")
        return Response.json({"done": True})

    async def _remove_peer(self, request: Request) -> Response:
        host, port = _address(request)
        if not self._all_peers().remove(host, port):
            raise HttpError(404, f"{host}:{port} is not dialled from here")
        return Response.json({"done": True})

    def _all_peers(self) -> Peering:
        mesh_views.mesh_in(self._core)
        if self._peering is None:
            raise HttpError(409, "this broker dials nobody")
        return self._peering

    def _dialler(self, name: str) -> Dialler:
        mesh_views.mesh_in(self._core)
        found = None if self._peering is None else self._peering.dialler(name)
        if found is None:
            raise HttpError(409, f"this broker does not dial {name}; ask the other end of the link")
        return found

    async def _reloaded(self, request: Request) -> Response:
        try:
            return Response.json({"notes": await self._reload()})
        except ConfigError as error:
            raise HttpError(409, "\n".join(error.problems)) from error


def _address(request: Request) -> tuple[str, int]:
    host = request.query.get("host", "")
    port = request.query.get("port", "")
    if not host or not re.fullmatch("[0-9]{1,5}", port) or not 1 <= int(port) <= 65_535:
        raise HttpError(400, "name the broker with host and port")
    return host, int(port)
