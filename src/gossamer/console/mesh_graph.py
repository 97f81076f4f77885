"""The mesh as a graph: what every broker says of its links, joined, and how that changed.

A link is known by its two ends. It stands if every end that can be asked says so.
"""

from collections import deque
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from gossamer.console.broker_watch import BrokerWatch

TREE: Final = "tree"  # it stands, and messages take it
STANDBY: Final = "standby"  # it stands, and waits for another to break
DOWN: Final = "down"
MOST_CHANGES: Final = 200
RATE_SECONDS: Final = 5.0

Pair = tuple[str, str]  # the names of both ends, in order


@dataclass(frozen=True)
class GraphLink:
    """Rates are a second, both ways."""

    near: str
    far: str
    state: str
    messages: float
    bytes: float
    queued: int
    since: float | None
    dialler: str  # the end that dials, empty if no end that can be asked does

    @property
    def pair(self) -> Pair:
        return (self.near, self.far)

    @property
    def label(self) -> str:
        return f"{self.near} – {self.far}"


@dataclass(frozen=True)
class Node:
    name: str
    is_up: bool
    is_watched: bool


@dataclass(frozen=True)
class GraphChange:
    at: float
    text: str
    is_good: bool


class _Total(NamedTuple):
    """What a link had carried at a time."""

    at: float
    messages: float
    bytes: float


class MeshGraph:
    """Renewed from the brokers' last answers; remembers what changed."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.links: dict[Pair, GraphLink] = {}
        self.changes: deque[GraphChange] = deque(maxlen=MOST_CHANGES)
        self._totals: dict[Pair, deque[_Total]] = {}

    def renew(self, brokers: list[BrokerWatch], now: float) -> None:
        told = {broker.name: broker for broker in brokers if broker.mesh is not None}
        nodes = {name: Node(name, broker.is_up, True) for name, broker in told.items()}
        said: dict[Pair, list[dict[str, Any]]] = {}
        for name, broker in told.items():
            assert broker.mesh is not None
            for entry in broker.mesh["entries"]:
                neighbour = entry["neighbour"]
                nodes.setdefault(neighbour, Node(neighbour, True, False))
                if broker.is_up:
                    said.setdefault(_pair(name, neighbour), []).append(entry)
        for pair in self.links.keys() - said.keys():
            # Both of its ends are gone, or have forgotten it.
            if any(name in told and not told[name].is_up for name in pair):
                said[pair] = []
        links = {pair: self._link(pair, entries, now) for pair, entries in said.items()}
        self._note_changes(nodes, links, now)
        self.nodes, self.links = nodes, links

    def _link(self, pair: Pair, entries: list[dict[str, Any]], now: float) -> GraphLink:
        messages = sum(_carried(entry, "messages", len(entries)) for entry in entries)
        volume = sum(_carried(entry, "bytes", len(entries)) for entry in entries)
        state = _state(entries)
        rates = self._rates(pair, _Total(now, messages, volume))
        if state == DOWN:
            rates = (0.0, 0.0)
        return GraphLink(
            *pair,
            state,
            *rates,
            sum(int(entry.get("queued", 0)) for entry in entries),
            max((entry["since"] for entry in entries if entry.get("since")), default=None),
            self._dialler(pair, entries),
        )

    def _dialler(self, pair: Pair, entries: list[dict[str, Any]]) -> str:
        """Remembered while the link is down."""
        for entry in entries:
            if entry.get("dialled"):
                return pair[0] if entry["neighbour"] == pair[1] else pair[1]
        known = self.links.get(pair)
        return "" if known is None else known.dialler

    def _rates(self, pair: Pair, total: "_Total") -> tuple[float, float]:
        """Over the last few seconds: brokers are not asked all at the same time."""
        totals = self._totals.setdefault(pair, deque())
        if totals and (total.messages < totals[-1].messages or total.bytes < totals[-1].bytes):
            totals.clear()  # an end was started again, or fell silent
        totals.append(total)
        while len(totals) > 2 and totals[1].at <= total.at - RATE_SECONDS:
            totals.popleft()
        first = totals[0]
        elapsed = total.at - first.at
        if elapsed <= 0.0:
            return 0.0, 0.0
        return (total.messages - first.messages) / elapsed, (total.bytes - first.bytes) / elapsed

    def _note_changes(
        self, nodes: dict[str, Node], links: dict[Pair, GraphLink], now: float
    ) -> None:
        for name, node in nodes.items():
            known = self.nodes.get(name)
            if known is not None and known.is_up != node.is_up:
                words = "is reachable again" if node.is_up else "is unreachable"
                self.changes.appendleft(GraphChange(now, f"{name} {words}", node.is_up))
            elif known is None and self.nodes:
                self.changes.appendleft(GraphChange(now, f"{name} joined", True))
        for pair, link in links.items():
            old = self.links.get(pair)
            if old is None and not self.links:
                continue
            before = "new" if old is None else old.state
            if before != link.state:
                text = f"link {link.label}: {before} → {link.state}"
                self.changes.appendleft(GraphChange(now, text, link.state != DOWN))


def _pair(one: str, other: str) -> Pair:
    return (one, other) if one < other else (other, one)


def _carried(entry: dict[str, Any], what: str, ends: int) -> float:
    """What was sent from this end; if only this end tells, what it received as well."""
    sent = float(entry.get(f"{what}_sent", 0))
    return sent if ends > 1 else sent + float(entry.get(f"{what}_received", 0))


def _state(entries: list[dict[str, Any]]) -> str:
    if not entries or not all(entry["connected"] for entry in entries):
        return DOWN
    return STANDBY if any(entry.get("role") == STANDBY for entry in entries) else TREE
