"""What a worker can still do once it is confined: a list, tried out and read by an emulator."""

import asyncio
import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.cli.main import run
from gossamer.net import assembly
from gossamer.vision import confinement, landlock, seccomp
from gossamer.vision.confinement import weaknesses
from gossamer.vision.pool import Pool, PoolLimits
from gossamer.vision.registry import Installed
from gossamer.vision.seccomp import (
    ALLOW,
    ALLOWED,
    CLONE,
    CLONE3,
    MACHINES,
    NOT_THERE,
    PRLIMIT,
    REFUSE,
    TGKILL,
    program,
)
from gossamer.vision.settings import WorkerSettings
from tests.support.pools import asking
from tests.support.processors import HARM

LINUX = sys.platform == "linux"
COLUMNS = range(len(MACHINES))
ARCHITECTURES = (0xC000003E, 0xC00000B7)
PID = 4711
HIGHEST = 600  # far above every call that there is


def verdict(column: int, number: int, *arguments: int, architecture: int | None = None) -> int:
    """What the kernel would do: the filter's few operations, as it runs them."""
    steps = program(column, PID)
    data = {0: number, 4: ARCHITECTURES[column] if architecture is None else architecture}
    for index in range(6):
        value = arguments[index] if index < len(arguments) else 0
        data[16 + 8 * index], data[20 + 8 * index] = value & 0xFFFF_FFFF, value >> 32
    at = loaded = 0
    while True:
        operation, if_true, if_false, operand = steps[at]
        at += 1
        if operation == 0x20:
            loaded = data[operand]
        elif operation == 0x15:
            at += if_true if loaded == operand else if_false
        elif operation == 0x45:
            at += if_true if loaded & operand else if_false
        else:
            assert operation == 0x06
            return operand


@pytest.mark.parametrize("column", COLUMNS)
def test_every_call_that_is_not_on_the_list_is_refused(column: int) -> None:
    listed = {numbers[column] for numbers in ALLOWED.values()}
    for number in range(HIGHEST):
        if number in listed:
            assert verdict(column, number) == ALLOW
        elif number == CLONE3[column]:
            assert verdict(column, number) == NOT_THERE
        elif number != PRLIMIT[column]:
            assert verdict(column, number) == REFUSE, number


@pytest.mark.parametrize("column", COLUMNS)
def test_some_calls_are_for_itself_alone(column: int) -> None:
    cases = [
        (CLONE[column], (0x0001_0000 | 0x100,), ALLOW),
        (CLONE[column], (17,), REFUSE),
        (TGKILL[column], (PID, 1, 6), ALLOW),
        (TGKILL[column], (PID + 1, 1, 6), REFUSE),
        (PRLIMIT[column], (0, 0, 0xDEAD_0000_0000), ALLOW),
        (PRLIMIT[column], (0, 7, 0), ALLOW),
        (PRLIMIT[column], (0, 7, 0xDEAD), REFUSE),
        (PRLIMIT[column], (0, 7, 0xDEAD_0000_0000), REFUSE),
        (PRLIMIT[column], (PID + 1, 0, 0), REFUSE),
    ]
    for number, arguments, expected in cases:
        assert verdict(column, number, *arguments) == expected, (number, arguments)


@pytest.mark.parametrize("column", COLUMNS)
def test_other_numberings_of_calls_are_refused(column: int) -> None:
    """32-bit calls, whose numbers mean others, and x86's second numbering."""
    assert verdict(column, 3, architecture=0x4000_0003) == REFUSE
    assert verdict(column, 0x4000_0000) == REFUSE


@pytest.mark.parametrize("column", COLUMNS)
def test_a_program_fits_into_the_kernel(column: int) -> None:
    steps = program(column, PID)
    assert len(steps) < 4096
    assert all(step.if_true < 256 and step.if_false < 256 for step in steps)


HEADERS = (
    Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    Path("/usr/include/asm-generic/unistd.h"),
)


@pytest.mark.parametrize("column", COLUMNS)
def test_the_numbers_are_the_kernels(column: int) -> None:
    if not HEADERS[column].exists():
        pytest.skip(f"{HEADERS[column]} is not installed")
    found = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", HEADERS[column].read_text()))
    if column == 1:
        found |= {"newfstatat": found["fstatat"]}
    special = {"clone": CLONE, "prlimit64": PRLIMIT, "tgkill": TGKILL, "clone3": CLONE3}
    for name, numbers in {**ALLOWED, **special}.items():
        if name in found:  # headers may be older than the newest calls
            assert numbers[column] == int(found[name]), name
    assert sum(name in found for name in ALLOWED) > 40


@pytest.mark.processes
@pytest.mark.skipif(not LINUX, reason="system calls are filtered on Linux")
def test_whatever_reaches_files_the_network_or_others_is_refused(tmp_path: Path) -> None:
    database = tmp_path / "gossamer.db"
    database.write_bytes(b"precious")

    async def scenario() -> None:
        async with asking() as pool:
            (answer,) = await pool.ask(f"harm {database}", "ACT")
            assert json.loads(answer) == {}
            assert pool.pool.weaknesses == 0

    assert len(HARM) > 80
    asyncio.run(scenario())
    assert database.read_bytes() == b"precious"
    assert [one.name for one in tmp_path.iterdir()] == ["gossamer.db"]


@pytest.mark.processes
def test_what_a_processor_needs_is_left() -> None:
    async def scenario() -> None:
        async with asking() as pool:
            assert await pool.ask("threads", "ACT") == ["[[1],[1],[1],[1],[1],[1],[1],[1]]"]
            assert await pool.ask("memory", "ACT") == [str(1 << 24)]
            assert await pool.ask("abort", "ACT") == ["!processor_failed"]
            assert await pool.ask("fine", "ACT") == ["1"]

    asyncio.run(scenario())


FORBIDDEN = """
import os, sys, threading
from gossamer.vision import landlock

version = landlock.{stage}()
assert version, "no landlock"
def attempts(path):
    yield "write", lambda: os.open(path, os.O_WRONLY)
    yield "make", lambda: os.open(path + ".other", os.O_WRONLY | os.O_CREAT)
    yield "unlink", lambda: os.unlink(path)
    yield "rename", lambda: os.rename(path, path + ".other")
    yield "mkdir", lambda: os.mkdir(path + ".other")
    if version >= 3:
        yield "truncate", lambda: os.truncate(path, 0)
    if {opens}:
        yield "read", lambda: os.open(path, os.O_RDONLY)
let = []
def attempt():
    for name, act in attempts(sys.argv[1]):
        try:
            act()
            let.append(name)
        except PermissionError:
            pass
attempt()
thread = threading.Thread(target=attempt)
thread.start()
thread.join()
if not {opens}:
    os.close(os.open(os.devnull, os.O_WRONLY))
    assert open(sys.argv[1]).read() == "precious"
print(let)
"""


@pytest.mark.processes
@pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
@pytest.mark.parametrize("stage", ["forbid_changes", "forbid_opening"])
def test_landlock_alone_closes_files(tmp_path: Path, stage: str) -> None:
    file = tmp_path / "file"
    file.write_text("precious")
    program = FORBIDDEN.format(stage=stage, opens=stage == "forbid_opening")
    done = subprocess.run(
        [sys.executable, "-c", program, str(file)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
    assert file.read_text() == "precious"


def test_what_a_system_cannot_do_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(seccomp, "can_filter", lambda: False)
    monkeypatch.setattr(landlock, "version", lambda: 2)
    assert len(weaknesses()) == 2
    monkeypatch.setattr(landlock, "version", lambda: 0)
    assert len(weaknesses()) == 2

    async def scenario() -> None:
        pool = Pool({}, WorkerSettings("."), PoolLimits(), lambda job, found: None)
        with caplog.at_level(logging.WARNING):
            pool.tell_weaknesses(weaknesses())
        assert pool.weaknesses == 2
        assert "not fully confined: system calls are not filtered" in caplog.text

    asyncio.run(scenario())


def test_check_tells_what_a_system_cannot_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "broker.toml"
    file.write_text("[[listener]]\nport = 0\n")
    usable = Installed((), {"FACES": "some:Processor"})
    monkeypatch.setattr(assembly, "installed_processors", lambda config: usable)
    monkeypatch.setattr(confinement, "weaknesses", lambda: ["files can be truncated"])
    assert run(["check", str(file)]) == 0
    assert "workers are not fully confined here: files can be truncated" in capsys.readouterr().err
    monkeypatch.setattr(confinement, "weaknesses", list)
    assert run(["check", str(file)]) == 0
    assert "confined" not in capsys.readouterr().err


def test_on_a_whole_system_there_is_nothing_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp, "can_filter", lambda: True)
    monkeypatch.setattr(landlock, "version", lambda: confinement.WHOLE_LANDLOCK)
    assert weaknesses() == []


@pytest.mark.skipif(seccomp.machine() is None, reason="there is a list for two machines")
def test_this_machine_is_asked_without_a_change() -> None:
    assert seccomp.can_filter()
    assert Path(__file__).read_text()
