"""Lines of brokers that are measured: ours as a mesh, Mosquitto's bridged, and bare processes that
do no more than the system calls of one message.

A bridge of Mosquitto forwards every topic, since it cannot know what is subscribed behind it.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from gossamer import __version__
from gossamer_lab.bench import peers
from gossamer_lab.bench.load.client import GeneratorError
from gossamer_lab.bench.measurement import BenchTarget

BRIDGE = """
connection to-{port}
address 127.0.0.1:{port}
topic # both 2
cleansession true
notifications false
restart_timeout 1
"""
# Where nobody asks for one.
USUAL_MODE = "ssf"


@dataclass(frozen=True)
class BrokerChain:
    """So many brokers of one kind."""

    kind: str
    version: str
    length: int
    start: Callable[[ExitStack, set[int]], BenchTarget]
    mode: str = ""  # of a mesh
    is_durable: bool = False

    @property
    def name(self) -> str:
        mode = f", {self.mode}" if self.mode and self.length > 1 else ""
        return f"{self.kind} × {self.length}{mode}{', on disk' if self.is_durable else ''}"

    @contextmanager
    def running(self, cores: set[int]) -> Iterator[BenchTarget]:
        """GeneratorError if they do not come up."""
        with ExitStack() as stack:
            yield self.start(stack, cores)


def gossamer_chain(
    length: int, mode: str = "", *, is_durable: bool = False, root: Path | None = None
) -> BrokerChain:
    """Of this checkout, or of another; ValueError if there is none at `root`."""
    kind = "gossamer" if root is None else peers.checkout_name(root)
    environment = {} if root is None else peers.checkout_environment(root)

    def start(stack: ExitStack, cores: set[int]) -> BenchTarget:
        from gossamer.net.local.broker import LocalMeshError
        from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan

        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gossamer-bench-")))
        plan = LocalMeshPlan(
            length, "linear", mode or USUAL_MODE, memory=not is_durable, environment=environment
        )
        local = stack.enter_context(LocalMesh(folder, plan))
        try:
            local.start()
        except LocalMeshError as error:
            raise GeneratorError(str(error)) from error
        pids = tuple(broker.pid for broker in local.brokers)
        for pid in pids:
            os.sched_setaffinity(pid, cores)
        return BenchTarget("127.0.0.1", local.brokers[0].port, pids, local.brokers[-1].port)

    return BrokerChain(kind, __version__ if root is None else "", length, start, mode, is_durable)


def mosquitto_chain(length: int) -> BrokerChain | None:
    """None where it is not installed."""
    first = peers.mosquitto()
    if first is None:
        return None

    def start(stack: ExitStack, cores: set[int]) -> BenchTarget:
        brokers: list[BenchTarget] = []
        for _ in range(length):
            bridge = BRIDGE.format(port=brokers[-1].port) if brokers else ""
            peer = peers.mosquitto(bridge) or first
            brokers.append(stack.enter_context(peer.running(cores)))
        pids = tuple(broker.pid for broker in brokers)
        return BenchTarget("127.0.0.1", brokers[0].port, pids, brokers[-1].port)

    return BrokerChain("mosquitto", first.version, length, start)


def bare_chain(length: int) -> BrokerChain:
    def start(stack: ExitStack, cores: set[int]) -> BenchTarget:
        last = stack.enter_context(peers.bare_loop().running(cores))
        line = [last]
        for _ in range(length - 1):
            relay = peers.bare_relay(line[0].port)
            line.insert(0, stack.enter_context(relay.running(cores)))
        return BenchTarget("127.0.0.1", line[0].port, tuple(one.pid for one in line), last.port)

    return BrokerChain("bare epoll", "", length, start)
