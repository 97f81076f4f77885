"""The admin API on a real socket: what it shows, what it does, and whom it refuses."""

import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gossamer.cli import main
from gossamer.net.admin import http, tokens
from gossamer.net.admin.endpoints import Endpoint
from gossamer.net.admin.server import AdminServer
from gossamer.net.config import ConfigError
from gossamer.net.config.root import Admin
from gossamer.net.listeners import Reloader
from gossamer.net.login_slots import MOST_STRANGERS
from gossamer.wire import reasons
from gossamer.wire.packets import Connack, Disconnect, Publish, Request, Suback, Subscribe
from tests.support.admin_service import assert_as_documented
from tests.support.live import LiveBroker, RawClient, live_file
from tests.support.located import PISA, ROUND_ME, connect_with, with_user
from tests.support.polling import PATIENCE

TOKEN = "a-token-for-the-tests"


class AdminClient:
    def __init__(self, broker: LiveBroker, port: int) -> None:
        self.broker = broker
        self.port = port

    def call(
        self, method: str, path: str, token: str | None = TOKEN, sent: bytes = b""
    ) -> tuple[int, Any, dict[str, str]]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        connection.request(method, path, sent or None, headers)
        response = connection.getresponse()
        body = response.read()
        is_json = response.headers["Content-Type"] == "application/json"
        return response.status, json.loads(body) if is_json else body, dict(response.headers)

    def get(self, path: str) -> Any:
        status, answer, _ = self.call("GET", path)
        assert status == 200, answer
        return answer

    def raw(self, request: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connected:
            connected.sendall(request)
            answer = b""
            with suppress(ConnectionError):
                while chunk := connected.recv(65536):
                    answer += chunk
            return answer


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "broker.toml"
    file.write_text("[[listener]]\nport = 0\n")
    return file


@pytest.fixture
def admin(config: Path) -> Iterator[AdminClient]:
    with live_file(config) as broker:

        async def start() -> tuple[AdminServer, int]:
            reloader = Reloader(broker.listeners, config)
            server = AdminServer(broker.broker, Admin(port=0), TOKEN, reloader.reload)
            return server, await server.open()

        server, port = broker.call(start())
        yield AdminClient(broker, port)
        broker.ask(server.close)


def client(admin: AdminClient, client_id: str) -> RawClient:
    made = RawClient.to(admin.broker.port())
    assert made.login(client_id=client_id).reason == 0
    return made


def test_sessions_and_subscriptions(admin: AdminClient) -> None:
    one = client(admin, "a/b ?")
    one.subscribe("t/+", "$share/g/u")
    other = client(admin, "other")
    listed = admin.get("/v1/sessions")
    assert listed["total"] == 2
    assert [entry["client_id"] for entry in listed["entries"]] == ["a/b ?", "other"]
    shown = admin.get("/v1/sessions/a%2Fb%20%3F")
    assert (shown["connected"], shown["subscriptions"], shown["address"]) == (True, 2, "127.0.0.1")
    assert admin.call("GET", "/v1/sessions/nobody")[0] == 404
    listed = admin.get("/v1/subscriptions?limit=1&offset=1")
    assert (listed["total"], listed["entries"][0]["filter"]) == (2, "$share/g/u")
    assert admin.get("/v1/subscriptions?client_id=other")["total"] == 0
    other.close()


def test_places_are_put_shown_and_removed(admin: AdminClient) -> None:
    ring = "[[10,43],[11,43],[11,44],[10,43]]"
    text = f'{{"type":"Polygon","coordinates":[{ring}]}}'
    status, put, _ = admin.call("POST", "/v1/places/back%20yard", sent=text.encode())
    assert (status, put["name"], put["version"]) == (200, "back yard", 1)
    assert admin.call("POST", "/v1/places/gate", sent=text.encode())[0] == 200
    listed = admin.get("/v1/places")
    assert listed["total"] == 2
    shown = listed["entries"][0]
    assert (shown["name"], shown["source"], shown["corners"]) == ("back yard", "administrator", 3)
    assert shown["area"] == json.loads(text)
    for path, sent, words in (
        ("/v1/places/yard", b"{", "not GeoJSON"),
        ("/v1/places/yard", b"\xff", "UTF-8"),
        ("/v1/places/yard", b"", "not GeoJSON"),
        ("/v1/places/a%2Fb", text.encode(), "without / + # ;"),
    ):
        status, answer, _ = admin.call("POST", path, sent=sent)
        assert (status, words in answer["error"]) == (400, True), answer
    assert admin.call("DELETE", "/v1/places/yard")[0] == 404
    assert admin.call("DELETE", "/v1/places/gate")[1] == {"done": True}
    assert admin.get("/v1/places")["total"] == 1
    assert admin.call("POST", "/v1/places/gate", sent=b"x" * 70_000)[0] == 413
    assert admin.call("POST", "/v1/places/gate", None, sent=text.encode())[0] == 401


def test_search(admin: AdminClient) -> None:
    one = client(admin, "Van7")
    one.subscribe("fleet/+", "city/temp")
    client(admin, "other")
    assert admin.get("/v1/sessions?search=van")["entries"][0]["client_id"] == "Van7"
    assert admin.get("/v1/sessions?search=nobody")["total"] == 0
    assert admin.get("/v1/subscriptions?search=FLEET")["entries"][0]["filter"] == "fleet/+"
    assert admin.get("/v1/subscriptions?search=van7&limit=1")["total"] == 2


def test_places(admin: AdminClient) -> None:
    one = RawClient.to(admin.broker.port())
    one.send(connect_with("walker", PISA))
    assert one.expect(Connack).reason == 0
    events = ("gpl_events", "enter")
    request = Subscribe(1, [Request("alerts/#", 0)], properties=with_user(ROUND_ME, events))
    one.send(request)
    assert one.expect(Suback).reasons == [0]
    one.subscribe("plain")
    assert admin.get("/v1/positions") == {
        "total": 1,
        "entries": [{"client_id": "walker", "lat": 43.72, "lon": 10.4}],
    }
    assert admin.get("/v1/fences")["entries"] == [
        {
            "client_id": "walker",
            "filter": "alerts/#",
            "lat": 43.72,
            "lon": 10.4,
            "events": ["enter"],
            "entries": [list(ROUND_ME)],
        }
    ]


def test_retained(admin: AdminClient) -> None:
    writer = client(admin, "writer")
    writer.subscribe("done")
    writer.publish("r/1", b"text", retain=True)
    writer.publish("r/2", b"\xff", retain=True)
    writer.publish("done")
    writer.read()
    found = {entry["topic"]: entry for entry in admin.get("/v1/retained?filter=r/%23")["entries"]}
    assert (found["r/1"]["payload"], found["r/1"]["encoding"]) == ("text", "utf-8")
    assert (found["r/2"]["payload"], found["r/2"]["encoding"]) == ("/w==", "base64")
    assert found["r/1"]["publisher"] == "writer"


def test_disconnect(admin: AdminClient) -> None:
    one = client(admin, "c")
    assert admin.call("DELETE", "/v1/sessions/c")[0] == 200
    assert one.expect(Disconnect).reason == reasons.ADMINISTRATIVE_ACTION
    assert one.read() is None
    assert admin.call("DELETE", "/v1/sessions/c")[0] == 404
    assert admin.call("DELETE", "/v1/sessions/c?discard=perhaps")[0] == 400


def test_reload(admin: AdminClient, config: Path) -> None:
    config.write_text("[[listener]]\nport = 0\n[limits]\nsubscriptions = 1\n[store]\nsync = 'off'")
    status, answer, _ = admin.call("POST", "/v1/reload")
    assert (status, answer) == (200, {"notes": ["store has changed, and needs a restart"]})
    assert client(admin, "c").subscribe("a", "b") == [0, reasons.QUOTA_EXCEEDED]
    config.write_text("[limits]\nsubscriptions = 0")
    status, answer, _ = admin.call("POST", "/v1/reload")
    assert status == 409
    assert "limits.subscriptions = 0" in answer["error"]


def test_metrics_and_health_are_open(admin: AdminClient) -> None:
    one = client(admin, "c")
    status, body, headers = admin.call("GET", "/metrics", token=None)
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    samples = {
        sample.name: sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }
    assert samples["gossamer_connections_open"] == 1
    assert samples["gossamer_connections_accepted_total"] == 1
    assert samples["gossamer_build_info"] == 1
    assert admin.call("GET", "/health", token=None)[1]["status"] == "ok"
    one.close()


def test_everything_else_needs_the_token(admin: AdminClient) -> None:
    for route in _routes(admin):
        if not route.is_open:
            path = route.path.replace("{client_id}", "c")
            assert admin.call(route.method, path, token=None)[0] in (401, 429)
    assert admin.call("GET", "/v1/sessions", token=TOKEN + "x")[0] in (401, 429)


def _routes(admin: AdminClient) -> list[Endpoint]:
    return _server(admin).routes


def _server(admin: AdminClient) -> AdminServer:
    return admin.broker.ask(lambda: AdminServer(admin.broker.broker, Admin(), TOKEN, _no_reload))


async def _no_reload() -> list[str]:
    return []


def test_wrong_tokens_are_slowed_down_and_never_keep_out_the_right_one(admin: AdminClient) -> None:
    answers = [admin.call("GET", "/v1/sessions", token="wrong")[0] for _ in range(12)]
    assert answers[:10] == [401] * 10
    assert answers[-1] == 429
    assert admin.call("GET", "/v1/sessions")[0] == 200
    assert admin.call("GET", "/health", token=None)[0] == 200


def test_a_request_without_a_token_is_no_try(admin: AdminClient) -> None:
    # What a page elsewhere can make a browser send to this machine.
    answers = [admin.call("GET", "/v1/sessions", token=None)[0] for _ in range(30)]
    assert answers == [401] * 30


def test_the_document_names_every_route(admin: AdminClient) -> None:
    document = admin.get("/openapi.json")
    assert document["openapi"] == "3.1.0"
    for route in _routes(admin):
        operation = document["paths"][route.path][route.method.lower()]
        assert operation["summary"]
        assert "200" in operation["responses"]
    names = [one["name"] for one in document["paths"]["/v1/retained"]["get"]["parameters"]]
    assert names == ["limit", "offset", "filter"]


def test_answers_are_as_the_document_says(admin: AdminClient) -> None:
    one = RawClient.to(admin.broker.port())
    one.send(connect_with("walker", PISA))
    assert one.expect(Connack).reason == 0
    one.send(Subscribe(1, [Request("alerts/#", 0)], properties=with_user(ROUND_ME)))
    assert one.expect(Suback).reasons == [0]
    one.publish("alerts/1", b"text", retain=True)
    one.expect(Publish)
    ring = b"[[10,43],[11,43],[11,44],[10,43]]"
    polygon = b'{"type":"Polygon","coordinates":[' + ring + b"]}"
    assert admin.call("POST", "/v1/places/yard", sent=polygon)[0] == 200
    for route in _routes(admin):
        if route.method == "GET" and route.path.startswith("/v1/") and "mesh" not in route.path:
            answer = admin.get(route.path.replace("{client_id}", "walker"))
            assert answer.get("entries") != [], route.path
            assert_as_documented(_server(admin), route.path, answer)
    assert_as_documented(_server(admin), "/health", admin.get("/health"))
    names = re.findall('"#/components/schemas/([^"]*)"', json.dumps(admin.get("/openapi.json")))
    assert names
    assert set(names) <= admin.get("/openapi.json")["components"]["schemas"].keys()


BAD_REQUESTS = [
    (b"\x16\x03\x01\x02\x00\r\n\r\n", 400),
    (b"GET /health\r\n\r\n", 400),
    (b"GET http://x/health HTTP/1.1\r\n\r\n", 400),
    (b"GET /health HTTP/1.1\r\nbroken\r\n\r\n", 400),
    (b"GET /health HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400),
    (b"GET /health HTTP/1.1\r\nContent-Length: 999999\r\n\r\n", 413),
    (b"GET /health HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 413),
    (b"GET /%ff HTTP/1.1\r\n\r\n", 400),
    (b"PATCH /health HTTP/1.1\r\n\r\n", 405),
    (b"POST /health HTTP/1.1\r\n\r\n", 405),
    (b"GET /nothing HTTP/1.1\r\n\r\n", 404),
    (b"GET /health?x=1 HTTP/1.1\r\n\r\n", 400),
    (b"GET /" + b"x" * 20000 + b" HTTP/1.1\r\n\r\n", 431),
]


@pytest.mark.parametrize(("request_bytes", "status"), BAD_REQUESTS)
def test_bad_requests(admin: AdminClient, request_bytes: bytes, status: int) -> None:
    assert admin.raw(request_bytes).startswith(f"HTTP/1.1 {status} ".encode())


def test_silent_strangers_stop_nobody(admin: AdminClient) -> None:
    with ExitStack() as stack:
        for _ in range(3 * MOST_STRANGERS):
            stranger = socket.create_connection(("127.0.0.1", admin.port), PATIENCE)
            stack.enter_context(stranger).sendall(b"GET /health HTTP/1.1\r\n")
            assert admin.get("/health")["status"] == "ok"
        assert admin.get("/v1/sessions")["total"] == 0


def test_strangers_that_do_not_take_their_answer_stop_nobody(admin: AdminClient) -> None:
    with ExitStack() as stack:
        for _ in range(3 * MOST_STRANGERS):
            stranger = socket.create_connection(("127.0.0.1", admin.port), PATIENCE)
            stack.enter_context(stranger).sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        assert admin.get("/v1/sessions")["total"] == 0


def test_slow_strangers_are_cut_in_time(
    admin: AdminClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "REQUEST_SECONDS", 0.3)
    for words in (b"", b"GET / HT", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"):
        assert admin.raw(words) == b""


def test_pages_are_bounded(admin: AdminClient) -> None:
    for query in ("limit=0", "limit=1001", "offset=-1", "limit=x"):
        assert admin.call("GET", f"/v1/sessions?{query}")[0] == 400
    assert admin.call("GET", "/v1/retained?filter=a%23")[0] == 400


def test_ctl(
    admin: AdminClient,
    config: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = client(admin, "c1")
    one.subscribe("t/#")
    where = ["--url", f"http://127.0.0.1:{admin.port}"]
    monkeypatch.setenv("GOSSAMER_ADMIN_TOKEN", TOKEN)
    assert main.run(["ctl", "sessions", *where]) == 0
    assert "c1" in capsys.readouterr().out
    assert main.run(["ctl", "subscriptions", "--client", "c1", "--json", *where]) == 0
    assert json.loads(capsys.readouterr().out)["filter"] == "t/#"
    assert main.run(["ctl", "retained", *where]) == 0
    assert main.run(["ctl", "memory", "--json", *where]) == 0
    tables = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "table" in line]
    assert next(one for one in tables if one["table"] == "subscriptions")["bytes"] > 0
    assert main.run(["ctl", "disconnect", "c1", *where]) == 0
    assert main.run(["ctl", "disconnect", "c1", *where]) == 1
    assert main.run(["ctl", "reload", *where]) == 0
    config.write_text("nonsense")
    assert main.run(["ctl", "reload", *where]) == 1
    assert "not TOML" in capsys.readouterr().err
    assert main.run(["ctl", "reload", "--url", "here"]) == 2
    assert main.run(["ctl", "reload", "--url", "http://127.0.0.1:1"]) == 1
    monkeypatch.setenv("GOSSAMER_ADMIN_TOKEN", "wrong")
    assert main.run(["ctl", "sessions", *where]) == 1
    assert "token" in capsys.readouterr().err


def test_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    made = tokens.token_for(None)
    file = tokens.default_token_file()
    assert file.stat().st_mode & 0o777 == 0o600
    assert tokens.token_for(None) == made
    given = tmp_path / "token"
    for text in ("", "short", "\u00e9" * 20):
        given.write_text(text)
        with pytest.raises(ConfigError, match="token"):
            tokens.token_for(given)
    given.write_text(TOKEN + "\n")
    assert tokens.token_for(given) == TOKEN
    named = tmp_path / "deep" / "token"
    assert len(tokens.token_for(named)) > 40
    assert named.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ConfigError, match=r"admin\.token_file = .*cannot be made"):
        tokens.token_for(given / "below a file")
    assert tokens.is_authorized({"authorization": f"Bearer {TOKEN}"}, TOKEN)
    for header in ("", "Bearer", f"Basic {TOKEN}", "Bearer \u00e9", TOKEN):
        assert not tokens.is_authorized({"authorization": header}, TOKEN)
