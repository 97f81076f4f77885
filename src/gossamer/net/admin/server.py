"""The admin listener: routes joined to the broker, behind a token."""

import asyncio
import inspect
import logging
import re
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from typing_extensions import TypedDict

from gossamer import __version__
from gossamer.broker.broker import Broker
from gossamer.broker.loop_turns import ADMIN, MeasuredTurn
from gossamer.broker.named_areas import ADMINISTRATOR, PlaceError
from gossamer.broker.rates import AddressRates
from gossamer.net.admin import mesh_views, views
from gossamer.net.admin.endpoints import Endpoint, find, openapi
from gossamer.net.admin.http import LONGEST_HEAD, HttpError, HttpRequest, Response, answer
from gossamer.net.admin.metrics import CONTENT_TYPE, exposition
from gossamer.net.admin.tokens import is_authorized
from gossamer.net.admin.views import PAGE, SEARCHED, Page
from gossamer.net.backup import NO_BACKUP, Backups, BackupView
from gossamer.net.clock import Clock
from gossamer.net.config import ConfigError
from gossamer.net.config.root import Admin
from gossamer.net.login_slots import LoginSlots
from gossamer.net.mesh_links import Dialler, MeshLinks

# Wrong tokens of one address: so many at once, then one every ten seconds; more are told to wait
# and not logged. It cannot keep out the right token, whoever else uses its address: a token is too
# long to be guessed, at any rate.
WRONG_TOKENS: Final = 10
WRONG_TOKENS_PER_SECOND: Final = 0.1

logger = logging.getLogger(__name__)

Reload = Callable[[], Awaitable[list[str]]]


FOLDER: Final = {"folder": "Its whole path, on the broker's machine; it must not be there yet."}
# Of a broker to dial.
ADDRESS: Final = {"host": "Its host name or address.", "port": "The port of a listener."}


class Health(TypedDict):
    """That it answers, since when (in seconds), and how often it met a fault of its own."""

    status: str
    version: str
    uptime: float
    internal_faults: int


class Done(TypedDict):
    """It was done."""

    done: bool


class Notes(TypedDict):
    """What to know about a configuration that is in force now."""

    notes: list[str]


class AdminServer:
    """`broker` is looked at from the event loop's own thread, between two turns."""

    def __init__(
        self,
        broker: Broker,
        settings: Admin,
        token: str,
        reload: Reload,
        mesh_links: MeshLinks | None = None,
        clock: Clock | None = None,
        backups: Backups | None = None,
    ) -> None:
        self._broker = broker
        self._backups = backups
        self._mesh_links = mesh_links
        self._clock = clock if clock is not None else Clock()
        self._core = broker.core
        self._settings = settings
        self._token = token
        self._reload = reload
        self.strangers = LoginSlots(patience=0.0)
        self._failures = AddressRates(WRONG_TOKENS_PER_SECOND, WRONG_TOKENS)
        self._server: asyncio.Server | None = None
        self.routes = self._routes()
        self._document: dict[str, Any] | None = None

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

    async def handle(self, request: HttpRequest) -> Response:
        """The answer to one request; HttpError for one that cannot be answered."""
        route, named = find(self.routes, request)
        if not route.is_open or self._settings.metrics_token:
            self._authorize(request)
            request.admit()
        title = f"{route.method} {route.path}"
        with MeasuredTurn(self._core.turns, ADMIN, title):
            answer = route.call(request, **named)
            if not inspect.isawaitable(answer):
                return _response(answer)
        found = await answer
        with MeasuredTurn(self._core.turns, ADMIN, title):
            return _response(found)

    def _authorize(self, request: HttpRequest) -> None:
        if is_authorized(request.headers, self._token):
            return
        if "authorization" in request.headers:  # without it, it is no try
            if not self._failures.allows(request.address, time.monotonic()):
                raise HttpError(429, "too many wrong tokens; try later")
            logger.warning("wrong admin API token from %s", request.address)
        raise HttpError(401, "the token is missing or wrong (Authorization: Bearer …)")

    def _routes(self) -> list[Endpoint]:
        one = "/v1/sessions/{client_id}"
        filtered = {**PAGE, "filter": "A topic filter; # by default."}
        by_client = {**SEARCHED, "client_id": "Only this client's."}
        by_link = {**PAGE, "neighbour": "Only of the link to this one."}
        discard = {"discard": "true to end the session as well."}
        wants = "All subscriptions."
        areas = "Areas of subscriptions."
        place = "/v1/places/{name}"
        return [
            Endpoint("GET", "/health", self._health, "Whether it is up.", is_open=True),
            Endpoint("GET", "/metrics", self._metrics, "For Prometheus.", is_open=True),
            Endpoint("GET", "/openapi.json", self._openapi, "This document."),
            Endpoint("GET", "/v1/sessions", self._sessions, "All sessions.", SEARCHED),
            Endpoint("GET", one, self._session, "One session."),
            Endpoint("DELETE", one, self._disconnect, "Disconnect a client.", discard),
            Endpoint("GET", "/v1/subscriptions", self._subscriptions, wants, by_client),
            Endpoint("GET", "/v1/retained", self._retained, "Retained messages.", filtered),
            Endpoint("GET", "/v1/memory", self._memory, "Memory use by table.", PAGE),
            Endpoint("GET", "/v1/loop", self._loop, "What held the event loop.", PAGE),
            Endpoint("GET", "/v1/positions", self._positions, "Positions of clients.", PAGE),
            Endpoint("GET", "/v1/fences", self._fences, areas, PAGE),
            Endpoint("GET", "/v1/places", self._places, "Places by name.", SEARCHED),
            Endpoint("POST", place, self._put_place, "Put a place: the body is GeoJSON."),
            Endpoint("DELETE", place, self._remove_place, "Remove a place."),
            Endpoint("GET", "/v1/mesh", self._mesh, "The neighbours.", PAGE),
            Endpoint("POST", "/v1/mesh/peers", self._add_peer, "Add a peer.", ADDRESS),
            Endpoint("DELETE", "/v1/mesh/peers", self._remove_peer, "Remove a peer.", ADDRESS),
            Endpoint("DELETE", "/v1/mesh/{name}", self._forget, "Forget a neighbour."),
            Endpoint("POST", "/v1/mesh/{name}/cut", self._cut, "Take a link down."),
            Endpoint("POST", "/v1/mesh/{name}/heal", self._heal, "Restore a link."),
            Endpoint("POST", "/v1/mesh/mode/{mode}", self._switch, "Change the mode."),
            Endpoint("GET", "/v1/mesh/choices", self._choices, "What mode auto chose.", PAGE),
            Endpoint("GET", "/v1/mesh/interests", self._interests, "Interests told.", by_link),
            Endpoint("GET", "/v1/mesh/windows", self._windows, "Aggregates of the mesh.", PAGE),
            Endpoint("POST", "/v1/backup", self._back_up, "Start a backup.", FOLDER),
            Endpoint("GET", "/v1/backup", self._backup, "Progress of the last backup."),
            Endpoint("POST", "/v1/reload", self._reloaded, "Reload the configuration."),
        ]

    def _health(self, request: HttpRequest) -> Health:
        uptime = round(self._clock.now() - self._core.started_at, 3)
        faults = self._core.faults.total
        return {
            "status": "ok",
            "version": __version__,
            "uptime": uptime,
            "internal_faults": faults,
        }

    def _metrics(self, request: HttpRequest) -> Response:
        return Response(exposition(self._core), CONTENT_TYPE)

    async def _openapi(self, request: HttpRequest) -> dict[str, Any]:
        if self._document is None:  # once, and not on the loop: it takes tens of milliseconds
            self._document = await asyncio.to_thread(openapi, self.routes, __version__)
        return self._document

    async def _sessions(self, request: HttpRequest) -> Page[views.SessionView]:
        if request.query.get("search"):
            return await views.searched_sessions(self._core, request.query)
        return views.sessions(self._core, request.query)

    def _session(self, request: HttpRequest, client_id: str) -> views.SessionView:
        return views.one_session(self._core, client_id)

    async def _subscriptions(self, request: HttpRequest) -> Page[views.SubscriptionView]:
        return await views.subscriptions(self._core, request.query)

    async def _retained(self, request: HttpRequest) -> Page[views.RetainedView]:
        return await views.retained(self._core, request.query, self._clock.now())

    def _places(self, request: HttpRequest) -> Page[views.PlaceView]:
        return views.places(self._core, request.query)

    def _put_place(self, request: HttpRequest, name: str) -> views.PlaceView:
        now = self._clock.now()
        try:
            put = self._core.places.put(name, request.body.decode(), ADMINISTRATOR, now)
        except UnicodeDecodeError as error:
            raise HttpError(400, "a place is GeoJSON: text in UTF-8") from error
        except PlaceError as error:
            raise HttpError(400, str(error)) from error
        self._broker.flush(now)
        return views.place_view(self._core, put)

    def _remove_place(self, request: HttpRequest, name: str) -> Done:
        now = self._clock.now()
        if not self._core.places.remove(name, now):
            raise HttpError(404, f"there is no place {name}")
        self._broker.flush(now)
        return {"done": True}

    async def _memory(self, request: HttpRequest) -> views.MemoryPage:
        return await views.memory(self._core, request.query)

    def _loop(self, request: HttpRequest) -> views.LoopPage:
        return views.loop(self._core, request.query)

    async def _positions(self, request: HttpRequest) -> Page[views.PositionView]:
        return await views.positions(self._core, request.query, self._clock.now())

    async def _fences(self, request: HttpRequest) -> Page[views.FenceView]:
        return await views.fences(self._core, request.query, self._clock.now())

    def _disconnect(self, request: HttpRequest, client_id: str) -> Done:
        discard = request.query.get("discard", "false")
        if discard not in ("true", "false"):
            raise HttpError(400, "discard is true or false")
        if not self._broker.disconnect(client_id, self._clock.now(), discard == "true"):
            raise HttpError(404, f"there is no session {client_id}")
        return {"done": True}

    def _mesh(self, request: HttpRequest) -> mesh_views.MeshView:
        return mesh_views.mesh_view(self._core, request.query)

    def _choices(self, request: HttpRequest) -> Page[mesh_views.ChoiceView]:
        return mesh_views.choices_view(self._core, request.query)

    def _windows(self, request: HttpRequest) -> Page[mesh_views.WindowView]:
        return mesh_views.windows_view(self._core, request.query)

    def _interests(self, request: HttpRequest) -> Page[mesh_views.InterestView]:
        return mesh_views.interests_view(self._core, request.query)

    def _switch(self, request: HttpRequest, mode: str) -> Done:
        now = self._clock.now()
        mesh_views.decide_mode(self._core, mode, now)
        self._broker.flush(now)
        return {"done": True}

    def _forget(self, request: HttpRequest, name: str) -> Done:
        now = self._clock.now()
        if not mesh_views.mesh_in(self._core).neighbour_table.forget(name, now):
            raise HttpError(404, f"there is no neighbour {name}")
        self._broker.flush(now)
        return {"done": True}

    def _cut(self, request: HttpRequest, name: str) -> Done:
        self._dialler(name).cut()
        return {"done": True}

    def _heal(self, request: HttpRequest, name: str) -> Done:
        self._dialler(name).heal()
        return {"done": True}

    def _add_peer(self, request: HttpRequest) -> Done:
        host, port = _address(request)
        if not self._all_peers().add(host, port):
            raise HttpError(409, f"{host}:{port} is already dialled")
        return {"done": True}

    def _remove_peer(self, request: HttpRequest) -> Done:
        host, port = _address(request)
        if not self._all_peers().remove(host, port):
            raise HttpError(404, f"{host}:{port} is not dialled from here")
        return {"done": True}

    def _all_peers(self) -> MeshLinks:
        mesh_views.mesh_in(self._core)
        if self._mesh_links is None:
            raise HttpError(409, "this broker dials no peers")
        return self._mesh_links

    def _dialler(self, name: str) -> Dialler:
        mesh_views.mesh_in(self._core)
        found = None if self._mesh_links is None else self._mesh_links.dialler(name)
        if found is None:
            raise HttpError(409, f"this broker does not dial {name}; ask the other end of the link")
        return found

    def _back_up(self, request: HttpRequest) -> BackupView:
        folder = Path(request.query.get("folder", ""))
        if not folder.is_absolute():
            raise HttpError(400, "name the folder with its whole path")
        if self._backups is None:
            raise HttpError(409, "this broker keeps nothing on disk: there is nothing to copy")
        if not self._backups.begin(folder):
            raise HttpError(409, "another copy is being made: wait for its end")
        return self._backups.view()

    def _backup(self, request: HttpRequest) -> BackupView:
        return NO_BACKUP if self._backups is None else self._backups.view()

    async def _reloaded(self, request: HttpRequest) -> Notes:
        try:
            return {"notes": await self._reload()}
        except ConfigError as error:
            raise HttpError(409, "\n".join(error.problems)) from error


def _response(answer: object) -> Response:
    return answer if isinstance(answer, Response) else Response.json(answer)


def _address(request: HttpRequest) -> tuple[str, int]:
    host = request.query.get("host", "")
    port = request.query.get("port", "")
    if not host or not re.fullmatch("[0-9]{1,5}", port) or not 1 <= int(port) <= 65_535:
        raise HttpError(400, "name the broker with host and port")
    return host, int(port)
