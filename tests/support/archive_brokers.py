"""Brokers with an archive, in this process, for readers of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.wire.packets import Acknowledgement
from gossamer.wire.properties import Properties
from tests.support.live import LiveBroker, RawClient, live


@contextmanager
def archiving(folder: Path, name: str = "b1", port: int = 0) -> Iterator[LiveBroker]:
    """What it archives stays in the folder, for the next broker of that name."""
    with live(
        '[[listener]]\nport = 0\n[store]\nkind = "memory"\n'
        f'[archive]\nname = "{name}"\nfolder = "{folder}"\nreplay_port = {port}\n'
    ) as broker:
        yield broker


def replay_port(broker: LiveBroker) -> int:
    service = broker.server.archive_service
    assert service is not None
    assert service.replay is not None
    return service.replay.port


def endpoint(*brokers: LiveBroker) -> str:
    return ",".join(f"127.0.0.1:{replay_port(broker)}" for broker in brokers)


def publish(
    broker: LiveBroker, messages: list[tuple[str, bytes]], user: dict[str, str] | None = None
) -> None:
    """At QoS 1; all are acknowledged, and so archived, afterwards."""
    client = RawClient.to(broker.port())
    assert client.login(client_id="publisher").reason == 0
    properties = Properties()
    properties.user = list((user or {}).items())
    for number, (topic, payload) in enumerate(messages, 1):
        client.publish(topic, payload, qos=1, packet_id=number, properties=properties)
    for _ in messages:
        client.expect(Acknowledgement)
    client.close()


def forget(broker: LiveBroker) -> None:
    """Removes everything that was archived so far."""
    archive = broker.server.archive
    assert archive is not None
    archive.roll(is_forced=True)
    for segment in archive.catalog.segments[:-1]:
        archive.catalog.remove(segment)
