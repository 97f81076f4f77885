"""A whole local mesh: its folder with key and configurations, its processes, and its links."""

import json
import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gossamer.net.admin.client import AdminError, AdminUnreachable
from gossamer.net.budgets import machine_memory
from gossamer.net.local.broker import LocalBroker, LocalMeshError
from gossamer.net.local.ports import free_ports, is_free
from gossamer.net.local.topologies import edges

# Seven interpreters on a busy machine take their time.
START_SECONDS: Final = 90.0
POLL_SECONDS: Final = 0.1

_CONFIGURATION: Final = """\
[[listener]]
port = {port}

[store]
{store}

[mesh]
name = "{name}"
mode = "{mode}"
roaming_seconds = {roaming}
key_file = "../mesh.key"
{more}
{peers}
[admin]
enabled = true
port = {admin_port}
token_file = "../admin.token"

[sys]
interval = {sys_seconds}

[limits]
memory = {memory}

[log]
level = "warning"
"""
_PEER: Final = """
[[mesh.peer]]
host = "127.0.0.1"
port = {port}
"""
_TLS_LISTENER: Final = """
[[listener]]
kind = "tls"
port = {port}
anonymous = "always"
[listener.tls]
certificate = "{folder}/{name}.pem"
key = "{folder}/{name}.key"
client_ca = "{folder}/ca.pem"
client_certificate = "required"
"""
_TLS_PEER: Final = """
[mesh.peer.tls]
ca = "{folder}/ca.pem"
certificate = "{folder}/{name}.pem"
key = "{folder}/{name}.key"
server_name = "localhost"
"""


@dataclass(frozen=True)
class LocalMeshPlan:
    """What is wanted: so many brokers in a shape, in a mode."""

    brokers: int
    topology: str = "linear"
    mode: str = "ssf"
    base_port: int = 0  # of the first broker, the others follow; 0 takes free ones
    memory: bool = True
    sys_seconds: int = 10
    roaming_seconds: float = 5.0  # how long clients wait for their session; 0 for no roaming
    compression: str = "none"
    # Links speak TLS with these: `ca.pem`, and `bN.pem` and `bN.key` of each broker.
    certificates: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)  # of the processes, beside ours
    more: tuple[str, ...] = ()  # sections of each broker's configuration that are not made here


@dataclass(frozen=True)
class LinkState:
    """One link as both ends see it; `near` is the broker that was dialled."""

    near: str
    far: str
    outward: dict[str, Any]  # what `near` says
    inward: dict[str, Any]  # what `far` says

    @property
    def stands(self) -> bool:
        return bool(self.outward.get("connected") and self.inward.get("connected"))

    def sum(self, field: str) -> int:
        """Of both ends; with `…_sent` that is everything the link carried."""
        return int(self.outward.get(field, 0)) + int(self.inward.get(field, 0))


class LocalMesh:
    """Use it in a `with`: whatever happens, no process is left behind."""

    def __init__(self, folder: Path, plan: LocalMeshPlan) -> None:
        self.plan = plan
        self.edges = edges(plan.topology, plan.brokers)
        self._folder = folder
        token = _secret(folder / "admin.token")
        _secret(folder / "mesh.key")
        free = free_ports(3 * plan.brokers)
        self._tls_ports = free[plan.brokers : 2 * plan.brokers]
        ports = free[: plan.brokers]
        if plan.base_port:
            ports = list(range(plan.base_port, plan.base_port + plan.brokers))
            _check_free(ports)
        self.brokers = [
            LocalBroker(
                f"b{number + 1}",
                folder / f"b{number + 1}",
                port,
                free[-number - 1],
                token,
                plan.environment,
            )
            for number, port in enumerate(ports)
        ]
        for number in range(plan.brokers):
            self.configure(number)

    def __enter__(self) -> "LocalMesh":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def configure(self, number: int, ports: dict[int, int] | None = None) -> None:
        """Writes a broker's configuration; `ports` are dialled in place of the neighbours' own."""
        plan = self.plan
        broker = self.brokers[number]
        dialled = [near for near, far in self.edges if far == number]
        own = self._tls_ports if plan.certificates else [one.port for one in self.brokers]
        peers = [(ports or {}).get(near, own[near]) for near in dialled]
        tls, tls_listener = "", ""
        # Other keys than these are not named where they are not needed: earlier versions know none.
        more = "" if plan.compression == "none" else f'compression = "{plan.compression}"\n'
        if plan.certificates:
            names = {"folder": plan.certificates.absolute(), "name": broker.name}
            tls = _TLS_PEER.format(**names)
            more += f"trust_certificates = {json.dumps([one.name for one in self.brokers])}"
            tls_listener = _TLS_LISTENER.format(port=self._tls_ports[number], **names)
        broker.folder.mkdir(parents=True, exist_ok=True)
        broker.config.write_text(
            _CONFIGURATION.format(
                port=broker.port,
                store='kind = "memory"' if plan.memory else 'folder = "data"',
                name=broker.name,
                mode=plan.mode,
                more=more,
                roaming=plan.roaming_seconds,
                peers="".join(_PEER.format(port=port) + tls for port in peers),
                admin_port=broker.admin_port,
                sys_seconds=plan.sys_seconds,
                memory=machine_memory().size // plan.brokers,
            )
            + tls_listener
            + (plan.more[number] if plan.more else "")
        )

    def start(self, report: Callable[[str], None] = lambda _: None) -> None:
        """Returns when the brokers are one mesh; LocalMeshError if that takes too long."""
        for broker in self.brokers:
            broker.start()
        self.wait(report)

    def wait(self, report: Callable[[str], None] = lambda _: None) -> None:
        """Until every link stands and all brokers use the same tree."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            missing = [
                self.brokers[number].name
                for number in range(self.plan.brokers)
                if not self._is_joined(number)
            ]
            report(f"{self.plan.brokers - len(missing)} of {self.plan.brokers} brokers are joined")
            if not missing:
                return
            if time.monotonic() > deadline:
                raise LocalMeshError(f"not joined in time: {', '.join(missing)}")
            time.sleep(POLL_SECONDS)

    def _is_joined(self, number: int) -> bool:
        told = self._told(self.brokers[number])
        ends = [edge for edge in self.edges if number in edge]
        neighbours = [self.brokers[sum(edge) - number].name for edge in ends]
        if told is None or not all(name in told and told[name]["connected"] for name in neighbours):
            return False
        tree = self.brokers[number].tree()
        return bool(tree["settled"]) and tree["brokers"] == len(self._joined_to(number))

    def _joined_to(self, number: int) -> set[int]:
        """All brokers that links lead to from this one, itself included."""
        found = {number}
        waiting = [number]
        while waiting:
            one = waiting.pop()
            others = {sum(edge) - one for edge in self.edges if one in edge} - found
            found |= others
            waiting += others
        return found

    def links(self) -> list[LinkState]:
        """The state of every link now; LocalMeshError if a broker has ended."""
        told = [self._told(broker) or {} for broker in self.brokers]
        names = [broker.name for broker in self.brokers]
        return [
            LinkState(
                names[near],
                names[far],
                told[near].get(names[far], {}),
                told[far].get(names[near], {}),
            )
            for near, far in self.edges
        ]

    def stop(self) -> None:
        for broker in self.brokers:
            broker.ask_to_stop()
        for broker in self.brokers:
            broker.await_end()

    @staticmethod
    def _told(broker: LocalBroker) -> dict[str, dict[str, Any]] | None:
        """What it says of its links; None while it is starting."""
        broker.check()
        try:
            return broker.links()
        except AdminUnreachable:
            return None
        except AdminError as error:
            raise LocalMeshError(f"{broker.name} says: {error}") from error


def _check_free(ports: list[int]) -> None:
    for port in ports:
        if not is_free(port):
            raise LocalMeshError(
                f"port {port} is taken: stop what listens there, or begin at another (--port)"
            )


def _secret(file: Path) -> str:
    """What the file holds; made on first use, readable by nobody else."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as out:
            out.write(secrets.token_urlsafe(32) + "\n")
    return file.read_text().strip()
