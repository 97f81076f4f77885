"""Brokers with a replay service on a real socket, open to all or guarded, and readers of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gossamer.archive.client import Address, Credentials, Request, read
from gossamer.net.auth.passwords import HASHER, write_entries
from gossamer.wire.packets import Acknowledgement
from tests.support.archives import rows_of
from tests.support.live import LiveBroker, RawClient, live
from tests.support.polling import PATIENCE

NOBODY = Credentials()


def configuration(folder: Path, archive: str = "", rest: str = "") -> str:
    return (
        '[[listener]]\nport = 0\n[store]\nkind = "memory"\n'
        f'[archive]\nfolder = "{folder / "archive"}"\nreplay_port = 0\n{archive}\n{rest}'
    )


@contextmanager
def archiving(folder: Path, archive: str = "", rest: str = "") -> Iterator[LiveBroker]:
    with live(configuration(folder, archive, rest)) as broker:
        yield broker


def address(broker: LiveBroker, **changes: Any) -> Address:
    service = broker.server.archive_service
    assert service is not None
    assert service.replay is not None
    return Address("127.0.0.1", service.replay.port, timeout=PATIENCE, **changes)


def publish(broker: LiveBroker, *messages: tuple[str, bytes], **login: Any) -> None:
    """At QoS 1; all are acknowledged afterwards."""
    client = RawClient.to(broker.port())
    assert client.login(client_id="publisher", **login).reason == 0
    for number, (topic, payload) in enumerate(messages, 1):
        client.publish(topic, payload, qos=1, packet_id=number)
        assert client.expect(Acknowledgement).packet_id == number
    client.close()


def payloads(broker: LiveBroker, credentials: Credentials = NOBODY, **asked: Any) -> list[bytes]:
    batches = list(read(address(broker), credentials, Request(**asked)))
    return [row["payload"] for row in rows_of(batches)]


def forget(broker: LiveBroker) -> None:
    """Removes everything that was archived so far."""
    archive = broker.server.archive
    assert archive is not None
    archive.roll(is_forced=True)
    for segment in archive.catalog.segments[:-1]:
        archive.catalog.remove(segment)


RULES = """
[[rule]]
users = ["ann"]
publish = ["#"]
subscribe = ["a/#", "+/x"]
deny_subscribe = ["a/secret"]
locate = ["bob"]
[[rule]]
users = ["bob"]
publish = ["#"]
subscribe = ["#"]
"""


@contextmanager
def guarded(folder: Path) -> Iterator[LiveBroker]:
    passwords = folder / "passwords"
    write_entries(passwords, {name: HASHER.hash(name) for name in ("ann", "bob")})
    (folder / "rules").write_text(RULES)
    rest = f'[auth]\npassword_file = "{passwords}"\n[permissions]\nfile = "{folder / "rules"}"'
    with archiving(folder, rest=rest) as broker:
        yield broker
