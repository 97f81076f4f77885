"""Real workers: what they answer, what they may not do, and what a bad one costs."""

import asyncio
import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.plus.jobs import Job
from gossamer.plus.publication import Publication
from gossamer.vision.pool import Pool, PoolLimits
from gossamer.vision.settings import WorkerSettings
from gossamer.wire.properties import Properties
from tests.support.images import encoded
from tests.support.polling import eventually
from tests.support.pools import PATIENCE, Asking, asking

pytestmark = pytest.mark.processes

LINUX = sys.platform == "linux"


async def pid_of_worker(pool: Asking) -> int:
    (answer,) = await pool.ask("", "COUNT1")
    return int(json.loads(answer)["pid"])


def test_one_publication_is_processed_once_for_all_who_ask() -> None:
    async def scenario() -> None:
        async with asking(limits=PoolLimits(workers=2)) as pool:
            answers = await pool.ask("", "COUNT2", "COUNT3", "COUNT1", "COUNT2")
            seen = [json.loads(answer) for answer in answers]
            assert len({one["pid"] for one in seen}) == 1
            assert [one["asked"] for one in seen] == [1, 1, 1, 1]

    asyncio.run(scenario())


def test_a_processor_is_given_topic_payload_and_properties() -> None:
    properties = Properties()
    properties.content_type = "text/plain"
    properties.user = [("place", "door"), ("place", "gate")]
    properties.correlation_data = b"\x00\xff"

    async def scenario() -> None:
        async with asking() as pool:
            (answer,) = await pool.ask("hello", "ECHO", topic="a/b", properties=properties)
            assert json.loads(answer) == [
                "a/b",
                "hello",
                {
                    "content_type": "text/plain",
                    "user": [["place", "door"], ["place", "gate"]],
                    "correlation_data": "00ff",
                },
            ]
            assert await pool.ask("é", "ECHO") == ['["camera","\\u00e9",{}]']

    asyncio.run(scenario())


CRASHES = ["segfault", "exit", "hog", "long"]
HANGS = ["sleep", "spin"]


async def costs_a_worker(pool: Asking, act: str, expected: str) -> None:
    before = await pid_of_worker(pool)
    assert await pool.ask(act, "ACT") == [expected], act
    assert await pool.ask("fine", "ACT") == ["1"], act
    assert await pid_of_worker(pool) != before, act


def test_a_crash_costs_one_result() -> None:
    async def scenario() -> None:
        async with asking() as pool:
            for act in CRASHES:
                await costs_a_worker(pool, act, "!processor_failed")

    asyncio.run(scenario())


def test_a_time_out_costs_one_result() -> None:
    async def scenario() -> None:
        async with asking(settings=WorkerSettings(".", seconds=2.0)) as pool:
            for act in HANGS:
                await costs_a_worker(pool, act, "!timed_out")

    asyncio.run(scenario())


KEEPS_THE_WORKER = [
    ("raise", "!processor_failed"),
    ("nothing", "!processor_failed"),
    ("nan", "!processor_failed"),
    ("unknown", "!processor_failed"),
    ("print", "2"),
    ("thread", "[1]"),
    ("no such act", "!processor_failed"),
]


def test_an_error_costs_one_result_and_nothing_else() -> None:
    async def scenario() -> None:
        async with asking() as pool:
            before = await pid_of_worker(pool)
            for act, expected in KEEPS_THE_WORKER:
                assert await pool.ask(act, "ACT", "ECHO") == [expected, f'["camera","{act}",{{}}]']
            assert await pid_of_worker(pool) == before

    asyncio.run(scenario())


@pytest.mark.skipif(not LINUX, reason="system calls are filtered on Linux")
def test_a_worker_has_given_up_files_sockets_and_processes() -> None:
    async def scenario() -> None:
        async with asking() as pool:
            for act in ("open", "socket", "fork", "program"):
                assert await pool.ask(act, "ACT") == [f'"refused {errno.EPERM}"'], act

    asyncio.run(scenario())


KILLED = """
import asyncio, os, signal
from tests.support.pools import asking

async def main():
    async with asking() as pool:
        print(*await pool.ask("", "COUNT1"), flush=True)
        asyncio.get_running_loop().call_later(0.1, os.kill, os.getpid(), signal.SIGKILL)
        await pool.ask("spin", "ACT")

asyncio.run(main())
"""


@pytest.mark.skipif(not LINUX, reason="on Linux the kernel ends a worker with its broker")
def test_a_worker_ends_with_a_broker_that_is_killed() -> None:
    paths = os.pathsep.join(path for path in sys.path if path)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    pid = json.loads(killed.stdout)["pid"]
    eventually(lambda: not is_running(pid), "the worker goes on", PATIENCE)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def test_what_finds_the_queue_full_is_dropped() -> None:
    async def scenario() -> None:
        limits = PoolLimits(workers=1, queue=2, queue_bytes=100)
        async with asking(limits=limits) as pool:
            asked = [asyncio.create_task(pool.ask("fine", "ACT", topic=f"t{n}")) for n in range(5)]
            answers = [(await one)[0] for one in asked]
            assert answers == ["1", "1", "!busy", "!busy", "!busy"]
            assert await pool.ask("x" * 101, "ECHO") == ["!busy"]
            assert await pool.ask("fine", "ACT") == ["1"]

    asyncio.run(scenario())


def test_a_processor_that_cannot_start_fails_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with asking() as pool:
            assert await pool.ask("fine", "NEVER", "ACT") == ["!processor_failed", "1"]

    asyncio.run(scenario())
    assert "$NEVER does not start: RuntimeError: no such model" in caplog.text


def test_many_images_from_many_topics_are_all_answered() -> None:
    async def scenario() -> None:
        async with asking(limits=PoolLimits(workers=2)) as pool:
            asked = [
                pool.ask(encoded("png", n + 1, 2), "SIZE", topic=f"camera{n % 7}")
                for n in range(60)
            ]
            answers = await asyncio.gather(*asked)
            assert answers == [[f"[{n + 1},2]"] for n in range(60)]

    asyncio.run(scenario())


def test_a_queue_that_is_half_full_keeps_further_operators_away_until_a_quarter_is_left() -> None:
    async def busy_with(waiting: int, payload: bytes, limits: PoolLimits) -> list[int]:
        """After each publication that comes, and then after each that has been taken."""
        pool = Pool({}, WorkerSettings("."), limits, lambda job, found: None)
        found = []
        try:
            for number in range(waiting):
                pool.start(Job("CNTPPL", Publication(f"t/{number}", payload)))
                found.append(pool.busy_seconds())
            while not pool._queue.empty():
                pool._queued_bytes -= len(pool._queue.get_nowait().publication.payload)
                found.append(pool.busy_seconds())
        finally:
            await pool.close()
        return found

    limits = PoolLimits(workers=1, queue=8)
    found = asyncio.run(busy_with(5, b"x", limits))
    assert [seconds > 0 for seconds in found] == [False] * 3 + [True] * 2 + [True] * 3 + [False] * 2
    by_size = PoolLimits(workers=1, queue=100, queue_bytes=400)
    found = asyncio.run(busy_with(2, b"x" * 100, by_size))
    assert [seconds > 0 for seconds in found] == [False, True, True, False]
