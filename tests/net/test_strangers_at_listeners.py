"""Connections before their login, with TLS and without: counted, cut in time, in nobody's way."""

import random
import resource
import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from gossamer.net.admin.metrics import exposition
from gossamer.net.connection_limits import ConnectionCounts
from gossamer.wire import reasons
from gossamer.wire.packets import V5, Connect, Pingreq, Pingresp
from tests.support.certificates import authority, client_context
from tests.support.live import LiveBroker, RawClient, live, live_file
from tests.support.polling import PATIENCE, eventually
from tests.support.processes import command, scrubbed, stop

ATTACKER = "127.0.0.66"
OTHER = "127.0.0.7"
KINDS = ["tcp", "tls", "ws", "wss"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    authority().write(tmp_path)
    authority().issue(tmp_path, "server")
    return tmp_path


def listener(folder: Path, kind: str, limits: str) -> str:
    tls = f'[listener.tls]\ncertificate = "{folder}/server.pem"\nkey = "{folder}/server.key"\n'
    own = tls if kind in ("tls", "wss") else ""
    return f"[limits]\n{limits}\n[[listener]]\nkind = '{kind}'\nport = 0\n{own}"


def context(folder: Path, kind: str) -> ssl.SSLContext | None:
    return client_context(folder / "ca.pem") if kind in ("tls", "wss") else None


def open_connections(broker: LiveBroker) -> int:
    return broker.ask(lambda: broker.listeners._connection_counts.total)


def arrived(broker: LiveBroker, count: int) -> None:
    eventually(lambda: open_connections(broker) == count)


def greeted(client: RawClient, kind: str) -> RawClient:
    """With the WebSocket's handshake behind it, where there is one."""
    if kind in ("ws", "wss"):
        client.send(
            b"GET /mqtt HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n"
        )
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += client.socket.recv(1)
        assert head.startswith(b"HTTP/1.1 101 ")
    return client


@pytest.mark.parametrize("kind", KINDS)
def test_silent_connections_of_one_address_are_counted(folder: Path, kind: str) -> None:
    with live(listener(folder, kind, "connections_per_address = 3")) as broker:
        silent = [RawClient.to(broker.port(), source=ATTACKER) for _ in range(3)]
        arrived(broker, 3)
        assert RawClient.to(broker.port(), source=ATTACKER).read() is None
        counters = broker.broker.core.counters
        refused = counters.connections_refused, counters.connections_refused_early
        assert refused == ((0, 1) if kind in ("tls", "wss") else (1, 0))
        assert b"gossamer_connections_refused_early_total" in exposition(broker.broker.core)
        other = RawClient.to(broker.port(), V5, context(folder, kind), OTHER)
        if kind in ("tcp", "tls"):
            assert other.login(client_id="other").reason == reasons.SUCCESS
        else:
            greeted(other, kind)
        silent[0].close()
        arrived(broker, 3)
        if kind in ("tls", "wss"):
            eventually(lambda: counters.handshakes_failed == 1)


@pytest.mark.parametrize("kind", KINDS)
def test_silent_strangers_push_out_each_other_and_nobody_else(folder: Path, kind: str) -> None:
    with live(listener(folder, kind, "connections = 6")) as broker:
        port = broker.port()
        first = RawClient.to(port, V5, context(folder, kind), ATTACKER)
        if kind in ("tcp", "tls"):
            assert first.login(client_id="first").reason == reasons.SUCCESS
        else:
            greeted(first, kind)
        silent = [RawClient.to(port, source=ATTACKER) for _ in range(5)]
        arrived(broker, 6)
        for number in range(3):
            other = greeted(RawClient.to(port, V5, context(folder, kind), OTHER), kind)
            if kind in ("tcp", "tls"):
                assert other.login(client_id=f"other{number}").reason == reasons.SUCCESS
        gone = [first, *silent] if kind in ("ws", "wss") else silent
        for stranger in gone[:2]:
            assert stranger.is_closed()
        if kind in ("tcp", "tls"):
            first.send(Pingreq())
            first.expect(Pingresp)


@pytest.mark.parametrize("kind", ["tls", "wss"])
def test_the_handshake_and_the_login_have_one_deadline(folder: Path, kind: str) -> None:
    with live(listener(folder, kind, "connect_timeout = '300 ms'")) as broker:
        silent = RawClient.to(broker.port())
        assert silent.read() is None
        half = RawClient.to(broker.port())
        half.send(b"\x16\x03\x01\x02\x00\x01\x00")  # the start of a ClientHello
        assert half.read() is None
        shaken = RawClient.to(broker.port(), context=context(folder, kind))
        assert shaken.read() is None
        arrived(broker, 0)


def test_who_logs_in_in_time_stays(folder: Path) -> None:
    with live(listener(folder, "tls", "connect_timeout = '2 s'")) as broker:
        client = RawClient.to(broker.port(), context=context(folder, "tls"))
        assert client.login(client_id="c").reason == reasons.SUCCESS
        silent = RawClient.to(broker.port())
        assert silent.read() is None  # the deadline of both is over
        client.send(Pingreq())
        client.expect(Pingresp)
        arrived(broker, 1)


@pytest.mark.parametrize("data", [b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x00\x00\x00", b"\0" * 4096])
def test_a_handshake_that_fails_gives_its_place_back(folder: Path, data: bytes) -> None:
    with live(listener(folder, "tls", "connections_per_address = 1")) as broker:
        for _ in range(5):
            wrong = RawClient.to(broker.port())
            wrong.send(data)
            assert wrong.is_closed()
            arrived(broker, 0)
        distrusting = ssl.create_default_context()
        with pytest.raises(ssl.SSLError):
            RawClient.to(broker.port(), context=distrusting)
        arrived(broker, 0)
        client = RawClient.to(broker.port(), context=context(folder, "tls"))
        assert client.login(client_id="c").reason == reasons.SUCCESS


def test_a_handshake_under_way_survives_a_reload(folder: Path) -> None:
    file = folder / "broker.toml"
    file.write_text(listener(folder, "tls", ""))
    with live_file(file) as broker:
        early = socket.create_connection(("127.0.0.1", broker.port()), PATIENCE)
        arrived(broker, 1)
        broker.reload()
        shaken = client_context(folder / "ca.pem").wrap_socket(early, server_hostname="localhost")
        client = RawClient(shaken)
        assert client.login(client_id="c").reason == reasons.SUCCESS
        arrived(broker, 1)


def test_a_flood_of_connects_that_say_nothing_leaves_room(folder: Path) -> None:
    with live(listener(folder, "tls", "connections = 20")) as broker:
        flood = [RawClient.to(broker.port(), source=ATTACKER) for _ in range(200)]
        for number in range(10):
            other = RawClient.to(broker.port(), V5, context(folder, "tls"), f"127.0.1.{number}")
            other.send(Connect(f"c{number}"))
            assert other.read() is not None
        assert open_connections(broker) <= 20 + 128
        for client in flood:
            client.close()


def few_descriptors() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))


def test_silent_strangers_do_not_take_the_last_descriptor() -> None:
    process = subprocess.Popen(
        command("serve", "--port", "0", "--memory"),
        stdout=subprocess.PIPE,
        env=scrubbed(PYTHONUNBUFFERED="1"),
        preexec_fn=few_descriptors,
    )
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(b":")[2])
        silent = [RawClient.to(port, source=ATTACKER) for _ in range(600)]
        others = [RawClient.to(port, source=OTHER) for _ in range(20)]
        for number, other in enumerate(others):
            assert other.login(client_id=str(number)).reason == reasons.SUCCESS
        for client in silent:
            client.close()
    finally:
        assert stop(process) == 0


# The census -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_the_connection_counts_against_a_model(seed: int) -> None:
    chance = random.Random(seed)
    connection_counts = ConnectionCounts()
    strangers: dict[int, str] = {}
    clients: dict[int, str] = {}
    cut: list[int] = []
    for _ in range(600):
        step = chance.random()
        address = f"10.0.0.{chance.randrange(5)}"
        if step < 0.45:
            cell: list[int] = []
            ticket = connection_counts.came(address, lambda cell=cell: cut.append(cell[0]))  # type: ignore[misc]
            cell.append(ticket)
            strangers[ticket] = address
        elif step < 0.6 and strangers:
            ticket = chance.choice(list(strangers))
            assert connection_counts.welcomed(strangers[ticket], ticket) is not None
            clients[ticket] = strangers.pop(ticket)
        elif step < 0.75 and (strangers or clients):
            held = chance.choice([one for one in (strangers, clients) if one])
            ticket = chance.choice(list(held))
            connection_counts.left(held.pop(ticket), ticket)
        elif step < 0.95:
            counts = {one: list(strangers.values()).count(one) for one in strangers.values()}
            most = max(counts.values(), default=0)
            expected = most > counts.get(address, 0) + 1
            assert connection_counts.push_out(address) is expected
            if expected:
                gone = cut.pop()
                where = strangers[gone]
                assert counts[where] == most
                assert gone == min(one for one, at in strangers.items() if at == where)
                clients[gone] = strangers.pop(gone)  # until its connection has ended
        assert not cut
        assert connection_counts.total == len(strangers) + len(clients)
        assert connection_counts.at(address) == [*strangers.values(), *clients.values()].count(
            address
        )
    for held in (strangers, clients):
        for ticket, where in held.items():
            connection_counts.left(where, ticket)
    assert (
        connection_counts.total,
        connection_counts._by_address,
        connection_counts._strangers,
        connection_counts._levels,
        connection_counts._most,
    ) == (
        0,
        {},
        {},
        {},
        0,
    )
