"""A QoS 1 PUBLISH is followed from the socket to its subscriber in the files that the guide lists.

The guide promises a newcomer at most eight, above what reads and writes sockets. What runs is
collected here from the sources, so in a process of its own: nothing can be seen of compiled
functions.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "architecture.md"
ROW = re.compile(r"^\d+\. `(\w+/(?:\w+/)*\w+\.py)`", re.MULTILINE)

TRACED = """
import asyncio, sys
from gossamer.broker.broker import Broker
from gossamer.broker.connection import Connection
from gossamer.broker.settings import Settings
from gossamer.net.clock import Clock
from gossamer.net.socket_transport import SocketTransport
from gossamer.net.transport import ConnectionPolicy, Host, SocketSink
from gossamer.session.journal import Journal
from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, Connect, Publish, Request, Subscribe

class Wire(SocketTransport):
    def __init__(self): self.written = []
    def write(self, data): self.written.append(data)

# By a stopwatch that stands still no turn is long: what comes in goes out in the same turn.
clock = Clock(monotonic=lambda: 0.0)
host = Host(Broker(Settings(), Journal(), 0.0), asyncio.new_event_loop(), lambda: None, clock)

def client(name):
    sink = SocketSink(host, ConnectionPolicy("test"))
    wire = Wire()
    sink.begin(wire)
    sink.data_received(encode(Connect(name), V5))
    return sink, wire

publisher, _ = client("publisher")
subscriber, wire = client("subscriber")
subscriber.data_received(encode(Subscribe(1, [Request("a/b", 1)]), V5))
publisher.data_received(encode(Publish("a/b", b"first", 1, packet_id=1), V5))
wire.written.clear()

files, is_on = set(), False
def note(frame, event, argument):
    global is_on
    code = frame.f_code
    is_on = (is_on or code is Connection.receive.__code__) and not wire.written
    if is_on and event == "call" and "gossamer" in code.co_filename:
        files.add(code.co_filename)
        files.add(frame.f_back.f_code.co_filename)

sys.setprofile(note)
publisher.data_received(encode(Publish("a/b", b"second", 1, packet_id=2), V5))
sys.setprofile(None)
assert b"second" in b"".join(wire.written)
print("\\n".join(sorted(name.split("/gossamer/")[-1] for name in files)))
"""


def listed(title: str) -> list[str]:
    """The files that the guide lists under that title, in their order."""
    text = GUIDE.read_text(encoding="utf-8")
    part = text.split(f"\n{title}\n", 1)[1]
    return ROW.findall(re.split(r"\n(?:#+ |\*\*)", part, maxsplit=1)[0])


def test_a_publication_passes_the_files_that_the_guide_lists() -> None:
    environment = {**os.environ, "GOSSAMER_PURE": "1", "PYTHONPATH": str(ROOT / "src")}
    run = [sys.executable, "-c", TRACED]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == sorted(listed("## One message, from socket to subscriber"))


@pytest.mark.parametrize(
    ("title", "most"),
    [
        ("## One message, from socket to subscriber", 8),
        ("### To a neighbour", 12),
        ("### To the archive and to Spark", 14),
    ],
)
def test_few_files_lead_there(title: str, most: int) -> None:
    files = listed(title)
    assert 0 < len(files) <= most
    assert len(set(files)) == len(files)
