"""Two brokers and several cables between them; every byte moves when a test says so.

A cable is dialled by one of them. What is written on it arrives in order, each direction in its own
time; two cables are in no order with each other.
"""

from __future__ import annotations

from collections import deque

from gossamer.broker.connection import Connection
from gossamer.broker.core import CLOSED, OPEN
from gossamer.broker.policy import Origin
from gossamer.mesh.dial import Dial
from gossamer.session.sink import Sink
from tests.support.meshes import Node

_ORIGIN = Origin("127.0.0.1", "mesh")

Action = tuple[str, int]


class Way(Sink):
    """One end of a cable, and what is on its way to the other."""

    def __init__(self) -> None:
        self.sent: deque[bytes] = deque()
        self.is_closed = False
        self.is_deaf = False  # the network takes what is written, and loses it

    def write(self, data: bytes) -> None:
        if not self.is_closed and not self.is_deaf:
            self.sent.append(data)

    def close(self) -> None:
        if not self.is_closed and not self.is_deaf:
            self.sent.append(b"")
        self.is_closed = True

    abort = close


class Call:
    """One dial over a cable."""

    def __init__(self, dialler: Node, acceptor: Node) -> None:
        self.dialler = dialler
        self.acceptor = acceptor
        self.near = Way()
        self.far = Way()
        self.accepted: Connection = acceptor.broker.open(self.far, _ORIGIN, acceptor.now)
        self.dial = Dial(dialler.mesh, self.near, _ORIGIN, dialler.now)

    def is_over(self) -> bool:
        connection = self.dial.connection
        return bool(self.dial.failure) or (connection is not None and connection.stage == CLOSED)

    def stands(self) -> bool:
        """At both ends, and each of them uses it."""
        connection = self.dial.connection
        if connection is None or connection.stage != OPEN or self.accepted.stage != OPEN:
            return False
        return (
            self.dialler.mesh.by_name[self.acceptor.name].connection is connection
            and self.acceptor.mesh.by_name[self.dialler.name].connection is self.accepted
        )

    def carry_there(self) -> None:
        data = self.near.sent.popleft()
        if self.far.is_closed:
            return
        if data:
            self.accepted.receive(data, self.acceptor.now)
        else:
            self.lose_far()

    def carry_back(self) -> None:
        data = self.far.sent.popleft()
        if self.near.is_closed:
            return
        if data:
            self.dial.receive(data, self.dialler.now)
        else:
            self.lose_near()

    def lose_far(self) -> None:
        self.far.is_closed = True
        self.accepted.lost(self.acceptor.now)

    def lose_near(self) -> None:
        self.near.is_closed = True
        self.dial.lost(self.dialler.now)

    def silence(self) -> None:
        """The network carries nothing any more, and tells nobody."""
        for way in (self.near, self.far):
            way.sent.clear()
            way.is_deaf = True

    def picture(self) -> object:
        """All that decides what may happen on it next."""
        return (
            bool(self.dial.failure),
            self.dial.name,
            -1 if self.dial.connection is None else self.dial.connection.stage,
            self.accepted.stage,
            *(_kinds(way) for way in (self.near, self.far)),
        )


def _kinds(way: Way) -> tuple[int, ...]:
    """What is on its way, by the packets' first bytes; after the handshake one is as any other."""
    return tuple(chunk[0] if chunk else -1 for chunk in way.sent)


class Pair:
    """`a` and `b`, and a cable for each pair of names: who dials whom."""

    def __init__(self, cables: tuple[str, ...], most_dials: int) -> None:
        self.nodes = {name: Node(name, "ssf") for name in "ab"}
        self.cables = cables
        self.most_dials = most_dials
        self.calls: list[list[Call]] = [[] for _ in cables]
        self.stood: list[Call] = []

    def actions(self) -> list[Action]:
        """What can happen now."""
        found: list[Action] = []
        for number, calls in enumerate(self.calls):
            if len(calls) < self.most_dials and (not calls or calls[-1].is_over()):
                found.append(("dial", number))
        return found + self.moves()

    def moves(self) -> list[Action]:
        """What is on its way, by cable and direction, that of earlier dials first."""
        found: list[Action] = []
        for number, calls in enumerate(self.calls):
            if any(call.near.sent for call in calls):
                found.append(("there", number))
            if any(call.far.sent for call in calls):
                found.append(("back", number))
        return found

    def act(self, action: Action) -> None:
        verb, number = action
        calls = self.calls[number]
        if verb == "dial":
            cable = self.cables[number]
            calls.append(Call(self.nodes[cable[0]], self.nodes[cable[1]]))
        elif verb == "there":
            next(call for call in calls if call.near.sent).carry_there()
        else:
            next(call for call in calls if call.far.sent).carry_back()
        self.flush()

    def flush(self) -> None:
        for node in self.nodes.values():
            node.broker.flush(node.now)
        self.stood += [call for call in self.standing() if call not in self.stood]

    def drain(self) -> None:
        """Everything that is on its way arrives; nobody dials."""
        moves = self.moves()
        while moves:
            self.act(moves[0])
            moves = self.moves()

    def standing(self) -> list[Call]:
        return [call for calls in self.calls for call in calls if call.stands()]

    def open_ends(self) -> int:
        """Connections with the neighbour, at both brokers together."""
        return sum(
            connection.is_peer and connection.stage == OPEN
            for node in self.nodes.values()
            for connection in node.broker.core.connections.values()
        )

    def picture(self) -> object:
        owners = tuple(
            tuple(
                link.connection is not None and link.is_dialled
                for link in node.mesh.by_name.values()
            )
            for node in self.nodes.values()
        )
        return owners, tuple(tuple(call.picture() for call in calls) for calls in self.calls)
