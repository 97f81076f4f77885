"""The asyncio client on real sockets, with our broker and with Mosquitto."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.net.client import Client, Disconnected, Refused
from gossamer.net.client_socket import BrokerAddress, parse_address
from gossamer.net.event_loop import run
from gossamer.wire.packets import V5, V311, Publish, Request, Will
from gossamer.wire.reasons import CLIENT_IDENTIFIER_NOT_VALID, SESSION_TAKEN_OVER
from tests.support.packet_bytes import properties
from tests.support.polling import PATIENCE
from tests.support.running_broker import running_gossamer, running_mosquitto


@pytest.fixture(scope="module", params=["gossamer", "mosquitto"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "gossamer":
        with running_gossamer() as port:
            yield f"mqtt://127.0.0.1:{port}"
    else:
        folder: Path = tmp_path_factory.mktemp("mosquitto")
        with running_mosquitto(folder) as port:
            yield f"mqtt://127.0.0.1:{port}"


both_versions = pytest.mark.parametrize("version", [V311, V5])


async def take(client: Client, count: int) -> list[Publish]:
    messages: list[Publish] = []
    async with asyncio.timeout(PATIENCE):
        async for message in client.messages():
            messages.append(message)
            if len(messages) == count:
                break
    return messages


@both_versions
def test_every_quality_of_service_goes_round(url: str, version: int) -> None:
    async def scenario() -> None:
        async with Client(url, f"round-{version}", version=version) as client:
            assert await client.subscribe(f"round/{version}/#", qos=2) == [2]
            for qos in (0, 1, 2):
                await client.publish(f"round/{version}/{qos}", f"at {qos}", qos=qos)
            messages = await take(client, 3)
            assert [(m.topic, m.payload, m.qos) for m in messages] == [
                (f"round/{version}/{qos}", b"at %d" % qos, qos) for qos in (0, 1, 2)
            ]
            await client.unsubscribe(f"round/{version}/#")

    run(scenario())


@both_versions
def test_many_publications_may_wait_at_once(url: str, version: int) -> None:
    async def scenario() -> None:
        async with Client(url, f"many-{version}", version=version) as client:
            await client.subscribe(f"many/{version}", qos=2)
            sending = [client.publish(f"many/{version}", b"%d" % n, 2) for n in range(300)]
            await asyncio.gather(*sending)
            messages = await take(client, 300)
            assert [int(m.payload) for m in messages] == list(range(300))
            assert client.unacknowledged == 0

    run(scenario())


@both_versions
def test_a_large_payload_arrives_whole(url: str, version: int) -> None:
    payload = bytes(range(256)) * 4_000

    async def scenario() -> None:
        async with Client(url, f"large-{version}", version=version) as client:
            await client.subscribe(f"large/{version}", qos=1)
            await client.publish(f"large/{version}", payload, qos=1)
            [message] = await take(client, 1)
            assert message.payload == payload

    run(scenario())


@both_versions
def test_a_session_is_resumed_with_what_it_missed(url: str, version: int) -> None:
    topic = f"resume/{version}"
    keeping = properties(session_expiry=300) if version == V5 else None

    async def scenario() -> None:
        client = Client(
            url, f"resume-{version}", version=version, clean_start=False, properties=keeping
        )
        assert not (await client.connect()).session_present
        await client.subscribe(topic, qos=1)
        await client.disconnect()
        async with Client(url, version=version) as other:
            await other.publish(topic, b"missed", qos=1)
        assert (await client.connect()).session_present
        [message] = await take(client, 1)
        assert message.payload == b"missed"
        await client.unsubscribe(topic)
        await client.disconnect()

    run(scenario())


@both_versions
def test_a_crash_publishes_the_will_and_a_goodbye_does_not(url: str, version: int) -> None:
    topic = f"will/{version}"

    async def scenario() -> None:
        async with Client(url, version=version) as watcher:
            await watcher.subscribe(topic)
            polite = Client(url, version=version, will=Will(topic, b"not this"))
            await polite.connect()
            await polite.disconnect()
            crashing = Client(url, version=version, will=Will(topic, b"gone"))
            await crashing.connect()
            crashing.abort()
            [message] = await take(watcher, 1)
            assert message.payload == b"gone"

    run(scenario())


def test_a_second_connection_takes_over(url: str) -> None:
    async def scenario() -> None:
        first = Client(url, "twice")
        await first.connect()
        async with Client(url, "twice"):
            with pytest.raises(Disconnected) as caught:
                await take(first, 1)
            assert caught.value.reason in (SESSION_TAKEN_OVER, 0)  # Mosquitto may just close
            assert not first.connected
            with pytest.raises(Disconnected):
                await first.publish("a")

    run(scenario())


def test_a_refusal_names_its_reason(url: str) -> None:
    async def scenario() -> None:
        client = Client(url, "", version=V311, clean_start=False)
        with pytest.raises(Refused) as caught:
            await client.connect()
        assert caught.value.reason == CLIENT_IDENTIFIER_NOT_VALID
        assert not client.connected

    run(scenario())


def test_the_broker_may_name_the_client(url: str) -> None:
    async def scenario() -> None:
        async with Client(url) as client:
            assert client.client_id

    run(scenario())


def test_options_of_a_subscription_travel(url: str) -> None:
    async def scenario() -> None:
        async with Client(url, "options") as client:
            quiet = Request("options/quiet", 1, no_local=True)
            await client.subscribe(
                quiet, "options/loud", properties=properties(subscription_ids=[7])
            )
            await client.publish("options/quiet", b"unheard")
            await client.publish("options/loud", b"heard", properties=properties(user=[("k", "v")]))
            [message] = await take(client, 1)
            assert message.payload == b"heard"
            assert message.properties is not None
            assert message.properties.subscription_ids == [7]
            assert message.properties.user == [("k", "v")]

    run(scenario())


def test_messages_end_with_disconnect(url: str) -> None:
    async def scenario() -> None:
        client = Client(url)
        await client.connect()
        await client.disconnect()
        await client.disconnect()
        assert [message async for message in client.messages()] == []

    run(scenario())


def test_a_silent_broker_is_noticed() -> None:
    async def scenario() -> None:
        async def greet_and_sleep(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            await reader.read(100)
            writer.write(b"\x20\x03\x00\x00\x00")
            await reader.read()
            writer.close()

        server = await asyncio.start_server(greet_and_sleep, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = Client(f"mqtt://127.0.0.1:{port}", keep_alive=1)
        await client.connect()
        with pytest.raises(Disconnected, match="does not answer"):
            await take(client, 1)
        server.close()

    run(scenario())


def test_nobody_there_is_an_os_error() -> None:
    with pytest.raises(OSError):
        run(Client("mqtt://127.0.0.1:1").connect())


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("localhost", BrokerAddress("mqtt", "localhost", 1883, "")),
        ("localhost:1", BrokerAddress("mqtt", "localhost", 1, "")),
        ("mqtts://[::1]", BrokerAddress("mqtts", "::1", 8883, "")),
        ("ws://h:80", BrokerAddress("ws", "h", 80, "/mqtt")),
        ("wss://h/x", BrokerAddress("wss", "h", 443, "/x")),
        ("unix:///run/b.sock", BrokerAddress("unix", "", 0, "/run/b.sock")),
        ("unix:/run/b.sock", BrokerAddress("unix", "", 0, "/run/b.sock")),
    ],
)
def test_addresses(url: str, address: BrokerAddress) -> None:
    assert parse_address(url) == address


@pytest.mark.parametrize("url", ["http://h", "mqtt://", "unix://", "mqtt://h:port"])
def test_addresses_that_name_no_broker(url: str) -> None:
    with pytest.raises(ValueError):
        parse_address(url)
