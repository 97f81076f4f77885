"""One attack on one real broker: the bystander's latency before and during it, and what it left.

The broker has a core of its own; the attackers, at a lower priority, share the other with the
bystander. Every attack meets a new broker, with budgets small enough to be filled in a few seconds.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.request import urlopen

from gossamer import __version__
from gossamer.net.auth.passwords import HASHER, write_entries
from gossamer.net.local.ports import free_port
from gossamer_lab.bench.attacks.bystander import Bystander, Service
from gossamer_lab.bench.brokers import proc
from gossamer_lab.bench.brokers.link import GeneratorError
from gossamer_lab.bench.brokers.peers import PeerBroker, RunningPeer
from gossamer_lab.bench.brokers.runner import allow_many_connections, split_cores

MIB: Final = 1 << 20
BUDGET: Final = "16 MiB"
WARM_UP_SECONDS: Final = 0.3
SCRAPE_SECONDS: Final = 10.0

# Every budget is the same; passwords are checked where somebody names a user.
CONFIGURATION: Final = """\
[[listener]]
host = "127.0.0.1"
port = {port}
anonymous = "always"

[limits]
{budgets}
queue_memory = "{budget}"

[auth]
password_file = "passwords"

[admin]
enabled = true
port = {admin_port}
token_file = "token"

[log]
level = "error"
"""
BUDGETS: Final = (
    "route_bytes",
    "grant_bytes",
    "alias_bytes",
    "packet_bytes",
    "session_bytes",
    "subscription_bytes",
    "retained_bytes",
    "operator_bytes",
    "geo_bytes",
    "delivery_bytes",
    "unsent_bytes",
)
# What tells of something that was not given; with the word for it.
REFUSALS: Final = {
    "memory_refused": "",
    "memory_evicted": " let go",
    "connections_refused": "connections",
    "publications_refused": "publications",
    "dropped_queue_full": "queued",
    "dropped_slow_subscriber": "to slow readers",
    "protocol_errors": "protocol errors",
}
SAMPLE: Final = re.compile(r'^gossamer_(\w+)_total(?:\{table="(\w+)"\})? (\S+)$', re.MULTILINE)


@dataclass(frozen=True)
class AttackOutcome:
    quiet: Service
    attacked: Service
    resident_before: int
    resident_after: int
    refused: dict[str, int]

    @property
    def ratio(self) -> float:
        return self.attacked.p99 / self.quiet.p99 if self.quiet.p99 else 0.0

    @property
    def usual_ratio(self) -> float:
        return self.attacked.usual / self.quiet.usual if self.quiet.usual else 0.0


def _broker(admin_port: int) -> PeerBroker:
    def command(port: int, folder: Path) -> list[str]:
        budgets = "\n".join(f'{name} = "{BUDGET}"' for name in BUDGETS)
        configuration = folder / "gossamer.toml"
        configuration.write_text(
            CONFIGURATION.format(port=port, admin_port=admin_port, budgets=budgets, budget=BUDGET)
        )
        write_entries(folder / "passwords", {"ann": HASHER.hash("right")})
        start = [sys.executable, "-m", "gossamer", "serve"]
        return [*start, "--config", str(configuration), "--memory"]

    return PeerBroker("gossamer", __version__, command)


def _refusals(admin_port: int) -> dict[str, int]:
    with urlopen(f"http://127.0.0.1:{admin_port}/metrics", timeout=SCRAPE_SECONDS) as answer:
        text = answer.read().decode()
    return {
        table + REFUSALS[name]: int(float(count))
        for name, table, count in SAMPLE.findall(text)
        if name in REFUSALS
    }


@contextmanager
def _attackers(name: str, host: str, port: int) -> Iterator[None]:
    command = [sys.executable, "-m", "gossamer_lab.bench.attacks.siege", name, host, str(port)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        if process.stdout.readline() != b"attacking\n":
            raise GeneratorError(f"the attackers of {name!r} did not start")
        yield
        if process.poll() is not None:
            raise GeneratorError(f"the attackers of {name!r} ended")
    finally:
        process.kill()
        process.communicate()


def measure(name: str, seconds: float) -> AttackOutcome:
    """GeneratorError or OSError if there is nothing to measure."""
    allow_many_connections()
    broker_cores, generator_cores = split_cores()
    own_cores = os.sched_getaffinity(0)
    admin_port = free_port()
    with RunningPeer(_broker(admin_port), broker_cores) as broker:
        os.sched_setaffinity(0, generator_cores)
        bystander = Bystander((broker.host, broker.port))
        try:
            bystander.measure(WARM_UP_SECONDS)
            quiet = bystander.measure(seconds)
            before = proc.resident_bytes(broker.pid)
            refused_before = _refusals(admin_port)
            with _attackers(name, broker.host, broker.port):
                attacked = bystander.measure(seconds)
                after = proc.resident_bytes(broker.pid)
            refused = {
                what: count - refused_before.get(what, 0)
                for what, count in _refusals(admin_port).items()
                if count > refused_before.get(what, 0)
            }
            return AttackOutcome(quiet, attacked, before, after, refused)
        finally:
            bystander.close()
            os.sched_setaffinity(0, own_cores)
