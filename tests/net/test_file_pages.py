"""Code and constants that only the start needed leave memory, and nothing else does."""

import subprocess
import sys

import pytest

from gossamer.net.file_pages import FileMapping, unwritten_files
from tests.support.processes import PATIENCE_SECONDS, scrubbed

SMAPS = """\
5581-5590 r--p 00000000 08:01 11                         /usr/bin/python3
Rss:                   4 kB
Anonymous:             0 kB
Swap:                  0 kB
SwapPss:               0 kB
5590-55a0 r-xp 00001000 08:01 11                         /usr/bin/python3
Rss:                  16 kB
Anonymous:             0 kB
Swap:                  0 kB
SwapPss:               0 kB
VmFlags: rd ex mr mw me
55a0-55b0 r-xp 00002000 08:01 12                         /a folder/broken at.so (deleted)
Anonymous:             4 kB
Swap:                  0 kB
SwapPss:               0 kB
55b0-55c0 rw-p 00003000 08:01 12                         /a folder/broken at.so
Anonymous:             0 kB
Swap:                  0 kB
SwapPss:               0 kB
55c0-55d0 r-xp 00000000 00:00 0
Anonymous:             0 kB
Swap:                  0 kB
SwapPss:               0 kB
55d0-55e0 r-xp 00002000 08:01 14                         /lib/relocated.so
Anonymous:             0 kB
Swap:                  4 kB
SwapPss:               4 kB
55e0-55f0 r-xp 00002000 08:01 14                         /lib/unknown.so
Anonymous:             0 kB
55f0-5600 r--p 00004000 08:01 14                         /lib/relocated.so
Anonymous:             8 kB
Swap:                  0 kB
SwapPss:               0 kB
5600-5610 r--s 00000000 08:01 15                         /var/shared
Anonymous:             0 kB
Swap:                  0 kB
SwapPss:               0 kB
7ff0-7ff1 r-xp 00000000 00:00 0                          [vdso]
Anonymous:             0 kB
Swap:                  0 kB
SwapPss:               0 kB
7ff1-7ff2 r-xp 00000000 08:01 13                         /lib/libc.so.6
Anonymous:             0 kB
Swap:                  0 kB
SwapPss:               0 kB
"""

# Imports much, gives its pages back, and shows what that left in memory, and that it still runs.
GIVES_BACK = """
from pathlib import Path
from gossamer.broker.broker import Broker
from gossamer.net.file_pages import give_back_file_pages

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1])

before = resident()
give_back_file_pages()
after = resident()
import asyncio, json
print(json.dumps([before, after, asyncio.run(asyncio.sleep(0, sum(range(1000))))]))
"""


def test_only_what_nobody_wrote_to_or_may_write_to_is_given_back() -> None:
    found = list(unwritten_files(SMAPS.splitlines(keepends=True)))
    assert found == [
        FileMapping(0x5581, 0x5590),
        FileMapping(0x5590, 0x55A0),
        FileMapping(0x7FF1, 0x7FF2),
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a list of mappings")
def test_a_process_goes_on_without_the_pages_of_its_start() -> None:
    told = subprocess.run(
        [sys.executable, "-c", GIVES_BACK],
        capture_output=True,
        text=True,
        env=scrubbed(),
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    before, after, total = map(int, told.stdout.strip(" []\n").split(","))
    assert after < before
    assert total == 499_500
