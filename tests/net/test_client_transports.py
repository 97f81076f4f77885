"""The client over every transport that it has an address for, and WebSockets that are none."""

import asyncio
import contextlib
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.net.client import Client, Disconnected
from gossamer.net.client_socket import parse_address
from gossamer.net.config import Config
from gossamer.net.config.listeners import Listener, Tls
from gossamer.net.event_loop import run
from gossamer.net.websocket import HandshakePolicy, WebSocketServer
from gossamer.net.websocket.client import WebSocketClient
from gossamer.net.websocket.frames import PING, PONG, frame_of
from tests.support.certificates import authority, client_context
from tests.support.polling import PATIENCE
from tests.support.running_broker import running_listeners

SCHEMES = ["mqtt", "mqtts", "ws", "wss", "unix"]


class Doors:
    """The address of each kind of listener, and whom a client must trust there."""

    def __init__(self, urls: dict[str, str], tls: ssl.SSLContext) -> None:
        self.urls = urls
        self.tls = tls


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    folder: Path = tmp_path_factory.mktemp("doors")
    ca = authority().write(folder)
    certificate, key = authority().issue(folder, "server")
    tls = Tls(certificate=certificate, key=key)
    config = Config(
        listener=(
            Listener(port=0),
            Listener(kind="tls", port=0, tls=tls),
            Listener(kind="ws", port=0, path="/mqtt"),
            Listener(kind="wss", port=0, tls=tls),
            Listener(kind="unix", socket=folder / "broker.sock"),
        )
    )
    with running_listeners(config) as ports:
        urls = {
            scheme: f"{scheme}://localhost:{port}"
            for scheme, port in zip(SCHEMES, ports, strict=True)
        }
        urls["unix"] = f"unix://{folder}/broker.sock"
        yield Doors(urls, client_context(ca))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_messages_of_all_sizes_go_round(doors: Doors, scheme: str) -> None:
    payloads = [b"", b"x" * 100, b"y" * 300, b"z" * 70_000, bytes(range(256)) * 3_000]

    async def scenario() -> list[bytes]:
        seen: list[bytes] = []
        async with (
            asyncio.timeout(PATIENCE),
            Client(doors.urls[scheme], f"over-{scheme}", tls=doors.tls) as client,
        ):
            await client.subscribe(f"over/{scheme}", qos=1)
            for payload in payloads:
                await client.publish(f"over/{scheme}", payload, qos=1)
            async for message in client.messages():
                seen.append(message.payload)
                if len(seen) == len(payloads):
                    break
        return seen

    assert run(scenario()) == payloads


@pytest.mark.parametrize("scheme", ["mqtts", "wss"])
def test_a_broker_that_is_not_trusted_is_not_talked_to(doors: Doors, scheme: str) -> None:
    with pytest.raises(ssl.SSLError):
        run(Client(doors.urls[scheme]).connect())


def test_a_websocket_at_another_path_is_refused(doors: Doors) -> None:
    with pytest.raises(ConnectionError, match="404"):
        run(Client(doors.urls["ws"] + "/elsewhere").connect())


def test_plain_mqtt_is_no_websocket(doors: Doors) -> None:
    with pytest.raises(ConnectionError):
        run(Client(doors.urls["mqtt"].replace("mqtt", "ws")).connect())


def test_a_lost_websocket_is_noticed(doors: Doors) -> None:
    async def scenario() -> None:
        first = Client(doors.urls["ws"], "same")
        await first.connect()
        async with asyncio.timeout(PATIENCE), Client(doors.urls["ws"], "same"):
            with pytest.raises(Disconnected):
                await anext(first.messages())

    run(scenario())


def opened() -> tuple[WebSocketClient, WebSocketServer]:
    client = WebSocketClient(parse_address("ws://h/mqtt"))
    server = WebSocketServer(HandshakePolicy())
    assert server.receive(client.request) == b""
    assert client.receive(bytes(server.output)) == b""
    server.output.clear()
    assert client.is_open
    return client, server


@pytest.mark.parametrize("size", [1, 3, 7, 1_000])
def test_both_sides_understand_each_other_in_whatever_pieces(size: int) -> None:
    client, server = opened()
    payload = bytes(range(256)) * 300
    there = client.wrap(payload)
    back = server.wrap(payload)
    assert b"".join(server.receive(there[at : at + size]) for at in range(0, len(there), size)) == (
        payload
    )
    assert b"".join(client.receive(back[at : at + size]) for at in range(0, len(back), size)) == (
        payload
    )


def test_pings_are_answered_and_a_goodbye_ends_it() -> None:
    client, server = opened()
    assert client.receive(frame_of(PING, b"hi", masked=False) + server.wrap(b"mqtt")) == b"mqtt"
    assert client.output[0] & 0x0F == PONG
    client.output.clear()
    server.close()
    assert client.receive(bytes(server.output)) == b""
    assert client.closing
    assert server.receive(bytes(client.output)) == b""


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: x\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"x" * 20_000,
    ],
)
def test_an_answer_that_opens_no_websocket(answer: bytes) -> None:
    with pytest.raises(ValueError):
        WebSocketClient(parse_address("ws://h")).receive(answer)


@pytest.mark.parametrize("frame", [b"\x82\x81\0\0\0\0x", b"\x81\x01x"])
def test_frames_that_a_broker_must_not_send(frame: bytes) -> None:
    client, _ = opened()
    with pytest.raises(ValueError):
        client.receive(frame)


@given(st.binary(max_size=200))
def test_no_answer_and_no_frame_breaks_the_client(data: bytes) -> None:
    """It is MQTT, or a ValueError, which ends the connection."""
    for client in (opened()[0], WebSocketClient(parse_address("ws://h"))):
        with contextlib.suppress(ValueError):
            client.receive(data + b"\r\n\r\n")
