"""`gossamer ctl backup` with traffic under way, and a broker that starts from what it made."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from gossamer.net.client import Client
from gossamer.net.local.broker import LocalBroker
from gossamer.net.local.ports import free_ports
from gossamer_lab.torture.clients import lasting
from tests.support.processes import PATIENCE_SECONDS, command, scrubbed

TOKEN = "a-token-of-some-length"
BEFORE = 300


def a_broker(folder: Path, data: Path, *, archives: bool) -> LocalBroker:
    port, admin_port, replay_port = free_ports(3)
    folder.mkdir(exist_ok=True)
    (folder / "token").write_text(TOKEN)
    broker = LocalBroker("b", folder, port, admin_port, TOKEN)
    broker.config.write_text(
        f'[[listener]]\nport = {port}\n[store]\nfolder = "{data}"\nsync = "normal"\n'
        f'[admin]\nenabled = true\nport = {admin_port}\ntoken_file = "token"\n'
        + (f"[archive]\nreplay_port = {replay_port}\n" if archives else "")
    )
    return broker


def ctl(broker: LocalBroker, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(
            "ctl",
            *arguments,
            *("--url", f"http://127.0.0.1:{broker.admin_port}"),
            *("--token-file", str(broker.folder / "token")),
        ),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        env=scrubbed(),
        check=False,
    )


async def connected(client: Client) -> Client:
    """Once the broker listens."""
    while True:
        try:
            await client.connect()
        except OSError:
            await asyncio.sleep(0.05)
        else:
            return client


async def published(broker: LocalBroker, until: asyncio.Event, acknowledged: list[int]) -> None:
    async with Client(f"mqtt://127.0.0.1:{broker.port}") as writer:
        while not until.is_set():
            number = len(acknowledged)
            await writer.publish(f"q/{number}", b"%d" % number, qos=1)
            await writer.publish(f"r/{number}", b"%d" % number, qos=1, retain=True)
            acknowledged.append(number)


async def made(broker: LocalBroker, copy: Path) -> list[int]:
    """What was acknowledged before the backup began, which is made while more comes."""
    reader = Client(
        f"mqtt://127.0.0.1:{broker.port}", "away", clean_start=False, properties=lasting()
    )
    await connected(reader)
    await reader.subscribe("q/#", qos=1)
    await reader.disconnect()
    acknowledged: list[int] = []
    until = asyncio.Event()
    publishing = asyncio.create_task(published(broker, until, acknowledged))
    while len(acknowledged) < BEFORE:
        broker.check()
        await asyncio.sleep(0.01)
    before = list(acknowledged)
    answer = await asyncio.to_thread(ctl, broker, "backup", str(copy))
    assert answer.returncode == 0, answer.stderr
    assert f"{copy} has " in answer.stdout
    until.set()
    await publishing
    assert len(acknowledged) > len(before)
    again = await asyncio.to_thread(ctl, broker, "backup", str(copy))
    assert again.returncode == 1
    assert "is there already" in again.stderr
    return before


async def found(broker: LocalBroker, wanted: list[int]) -> tuple[list[int], list[int]]:
    """What the restored broker delivers from the queue, and what it has retained."""
    url = f"mqtt://127.0.0.1:{broker.port}"
    reader = Client(url, "away", clean_start=False, properties=lasting())
    await connected(reader)
    queued: list[int] = []
    async for message in reader.messages():
        queued.append(int(message.payload))
        if len(queued) == len(wanted):
            break
    await reader.disconnect()
    kept: list[int] = []
    async with Client(url) as late:
        await late.subscribe("r/#", qos=1)
        async for message in late.messages():
            kept.append(int(message.payload))
            if set(wanted) <= set(kept):
                break
    return queued, kept


@pytest.mark.parametrize("archives", [False, True])
def test_a_broker_that_starts_from_a_backup_has_all_from_before(
    tmp_path: Path, archives: bool
) -> None:
    copy = tmp_path / "copy"
    broker = a_broker(tmp_path / "first", tmp_path / "data", archives=archives)
    broker.start()
    try:
        before = asyncio.run(asyncio.wait_for(made(broker, copy), PATIENCE_SECONDS))
    finally:
        broker.kill()
    restored = a_broker(tmp_path / "second", copy, archives=archives)
    restored.start()
    try:
        queued, kept = asyncio.run(asyncio.wait_for(found(restored, before), PATIENCE_SECONDS))
    finally:
        restored.stop()
    assert queued[: len(before)] == before
    assert set(before) <= set(kept)
    if archives:
        rows = subprocess.run(
            command("archive", "cat", str(copy / "archive")),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            env=scrubbed(),
            check=True,
        ).stdout.splitlines()
        topics = {json.loads(row)["topic"] for row in rows}
        assert {f"q/{number}" for number in before} <= topics


def test_a_broker_that_keeps_nothing_has_nothing_to_copy(tmp_path: Path) -> None:
    broker = a_broker(tmp_path / "first", tmp_path / "data", archives=False)
    text = broker.config.read_text().replace("[store]", '[store]\nkind = "memory"')
    broker.config.write_text(text)
    broker.start()

    async def ask() -> None:
        await (await connected(Client(f"mqtt://127.0.0.1:{broker.port}"))).disconnect()
        answer = await asyncio.to_thread(ctl, broker, "backup", str(tmp_path / "copy"))
        assert answer.returncode == 1
        assert "nothing to copy" in answer.stderr

    try:
        asyncio.run(asyncio.wait_for(ask(), PATIENCE_SECONDS))
    finally:
        broker.stop()
