"""What the foreign clients cannot ask for or do not show, seen by our own client."""

import asyncio

import pytest

from gossamer.net.client import Client, Refused
from gossamer.net.event_loop import run
from gossamer.wire.packets import Publish
from gossamer.wire.reasons import NO_MATCHING_SUBSCRIBERS, PACKET_TOO_LARGE
from tests.support.packet_bytes import properties
from tests.support.polling import PATIENCE


async def take(client: Client, count: int) -> list[Publish]:
    messages: list[Publish] = []
    async with asyncio.timeout(PATIENCE):
        async for message in client.messages():
            messages.append(message)
            if len(messages) == count:
                break
    return messages


def test_topic_aliases_towards_a_client_that_offers_some(port: int) -> None:
    topics = [f"alias/{number % 5}" for number in range(50)]

    async def scenario() -> list[Publish]:
        offer = properties(topic_alias_maximum=3)
        url = f"mqtt://127.0.0.1:{port}"
        async with Client(url, properties=offer) as reader, Client(url) as writer:
            await reader.subscribe("alias/+", qos=1)
            for topic in topics:
                await writer.publish(topic, topic, qos=1)
            return await take(reader, len(topics))

    messages = run(scenario())
    assert [message.topic for message in messages] == topics
    assert [message.payload.decode() for message in messages] == topics
    aliases = {message.properties.topic_alias for message in messages if message.properties}
    assert aliases - {None} <= {1, 2, 3}
    assert aliases - {None}


def test_a_message_larger_than_a_client_takes_is_not_sent_to_it(port: int) -> None:
    async def scenario() -> list[Publish]:
        url = f"mqtt://127.0.0.1:{port}"
        small = Client(url, properties=properties(maximum_packet_size=1_000))
        async with small, Client(url) as writer:
            await small.subscribe("size", qos=1)
            await writer.publish("size", bytes(2_000), qos=1)
            await writer.publish("size", b"fits", qos=1)
            return await take(small, 1)

    assert [message.payload for message in run(scenario())] == [b"fits"]


def test_a_packet_over_the_brokers_limit_is_not_sent_and_the_connection_stays(port: int) -> None:
    async def scenario() -> None:
        async with Client(f"mqtt://127.0.0.1:{port}") as client:
            assert client.connack is not None
            assert client.connack.properties is not None
            limit = client.connack.properties.maximum_packet_size
            assert limit is not None
            with pytest.raises(Refused) as caught:
                await client.publish("size", bytes(limit), qos=1)
            assert caught.value.reason == PACKET_TOO_LARGE
            await client.publish("size", b"small", qos=1)

    run(scenario())


def test_a_publisher_learns_that_nobody_listens(port: int) -> None:
    async def scenario() -> None:
        async with Client(f"mqtt://127.0.0.1:{port}") as client:
            assert await client.publish("nobody/here", b"", qos=1) == NO_MATCHING_SUBSCRIBERS

    run(scenario())
