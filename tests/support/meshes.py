"""Brokers joined in memory: links that carry bytes when told to, and can be cut and mended."""

from collections import deque

from gossamer.broker.broker import Broker
from gossamer.broker.policy import Origin
from gossamer.mesh.dial import Dial
from gossamer.mesh.mesh import Mesh
from gossamer.mesh.settings import CAPABILITIES, SPEAKS, MeshSettings
from gossamer.plus.engine import Engine
from gossamer.session.journal import Journal
from gossamer.session.records import Snapshot
from gossamer.session.sink import Sink
from tests.support.memory import World


class Wire(Sink):
    """One end of a link; what is written waits until the mesh runs."""

    def __init__(self, queue: deque[tuple["Wire", bytes]]) -> None:
        self.queue = queue
        self.other: Wire | None = None
        self.end: object = None  # a Dial or a Connection
        self.is_closed = False

    def write(self, data: bytes) -> None:
        if self.other is not None and not self.is_closed:
            self.queue.append((self.other, data))

    def close(self) -> None:
        self.is_closed = True
        if self.other is not None:
            self.queue.append((self.other, b""))

    abort = close


class Node(World):
    """A broker of a mesh."""

    def __init__(
        self,
        name: str,
        mode: str,
        key: str = "secret",
        journal: Journal | None = None,
        snapshot: Snapshot | None = None,
        roaming_seconds: float = 5.0,
        speaks: int = SPEAKS,
        capabilities: frozenset[str] = CAPABILITIES,
        begins: float = World.begins,
        engine: Engine | None = None,
    ) -> None:
        self.begins = begins
        super().__init__(journal)
        if engine is not None:
            self.broker = Broker(self.settings, journal or Journal(), self.now, engine)
        self.name = name
        if snapshot is not None:
            self.broker.restore(snapshot, self.now)
        settings = MeshSettings(name, mode, "test", key)
        settings.roaming_seconds = roaming_seconds
        settings.speaks = speaks
        settings.capabilities = capabilities
        self.mesh = Mesh(self.broker.core, settings)


class Net:
    """Nodes and the links between them; `run` lets everything settle."""

    def __init__(self, mode: str = "ssf") -> None:
        self.mode = mode
        self.nodes: dict[str, Node] = {}
        self.queue: deque[tuple[Wire, bytes]] = deque()
        self.links: dict[tuple[str, str], tuple[Wire, Wire]] = {}

    def node(self, name: str, **options: object) -> Node:
        self.nodes[name] = Node(name, self.mode, **options)  # type: ignore[arg-type]
        return self.nodes[name]

    def join(self, a: str, b: str, compresses: bool = False) -> Dial:
        """`a` dials `b`."""
        dialler, acceptor = self.nodes[a], self.nodes[b]
        near, far = Wire(self.queue), Wire(self.queue)
        near.other, far.other = far, near
        far.end = acceptor.broker.open(far, Origin("127.0.0.1", "mesh"), acceptor.now)
        dial = Dial(dialler.mesh, near, Origin("127.0.0.1", "mesh"), dialler.now, compresses)
        near.end = dial
        self.links[a, b] = (near, far)
        self.run()
        return dial

    def cut(self, a: str, b: str) -> None:
        """The link breaks; what was under way is lost."""
        near, far = self.links.pop((a, b))
        kept = [item for item in self.queue if item[0] not in (near, far)]
        self.queue.clear()
        self.queue.extend(kept)
        near.other = far.other = None
        near.end.lost(self.nodes[a].now)  # type: ignore[attr-defined]
        far.end.lost(self.nodes[b].now)  # type: ignore[attr-defined]
        self.run()

    def run(self) -> None:
        """Until nobody has anything to say."""
        while True:
            for node in self.nodes.values():
                node.broker.flush(node.now)
            if not self.queue:
                return
            wire, data = self.queue.popleft()
            now = next(iter(self.nodes.values())).now
            if not data:
                wire.other = None
                wire.end.lost(now)  # type: ignore[attr-defined]
            else:
                wire.end.receive(data, now)  # type: ignore[attr-defined]
