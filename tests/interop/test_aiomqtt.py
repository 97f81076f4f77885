"""aiomqtt, the asyncio client most people use."""

import asyncio

import aiomqtt
import pytest

from tests.support.polling import PATIENCE

VERSIONS = [aiomqtt.ProtocolVersion.V311, aiomqtt.ProtocolVersion.V5]


@pytest.mark.parametrize("version", VERSIONS)
def test_messages_go_round(port: int, version: aiomqtt.ProtocolVersion) -> None:
    async def scenario() -> list[tuple[str, object, int]]:
        seen: list[tuple[str, object, int]] = []
        async with (
            asyncio.timeout(PATIENCE),
            aiomqtt.Client("127.0.0.1", port, protocol=version) as client,
        ):
            await client.subscribe(f"aio/{version.value}/#", qos=2)
            for qos in (0, 1, 2):
                await client.publish(f"aio/{version.value}/{qos}", b"x" * 1_000, qos=qos)
            async for message in client.messages:
                seen.append((str(message.topic), message.payload, message.qos))
                if len(seen) == 3:
                    break
        return seen

    expected = [(f"aio/{version.value}/{qos}", b"x" * 1_000, qos) for qos in (0, 1, 2)]
    assert asyncio.run(scenario()) == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_a_will_is_published_when_the_program_fails(
    port: int, version: aiomqtt.ProtocolVersion
) -> None:
    topic = f"aio/will/{version.value}"

    async def scenario() -> object:
        async with (
            asyncio.timeout(PATIENCE),
            aiomqtt.Client("127.0.0.1", port, protocol=version) as watcher,
        ):
            await watcher.subscribe(topic, qos=1)
            will = aiomqtt.Will(topic, b"gone", qos=1)
            dying = aiomqtt.Client("127.0.0.1", port, protocol=version, will=will)
            await dying.__aenter__()
            sock = dying._client.socket()
            assert sock is not None
            sock.close()
            async for message in watcher.messages:
                return message.payload
        return None

    assert asyncio.run(scenario()) == b"gone"
