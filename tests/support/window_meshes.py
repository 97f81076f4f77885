"""Brokers in a line that count windows together: time that passes, and the results that came."""

import math
from itertools import pairwise

from tests.support.memory import MemoryClient, World
from tests.support.meshes import Net, Node

WINDOW = 900.0
Results = dict[str, str]


def later(net: Net, seconds: float) -> None:
    """Time passes for all, and nobody takes the silence of a link for its death."""
    for near, far in net.links.values():
        near.end.connection.last_seen = far.end.last_seen = 1e12  # type: ignore[attr-defined]
    for node in net.nodes.values():
        node.wait(seconds)
    net.run()


def until_end(world: World) -> float:
    return (math.floor(world.now / WINDOW) + 1) * WINDOW - world.now


def end_window(net: Net) -> None:
    later(net, until_end(next(iter(net.nodes.values()))))


def line(mode: str, names: str = "abc", **options: object) -> Net:
    net = Net(mode)
    for name in names:
        net.node(name, **options)
    for one, other in pairwise(names):
        net.join(one, other)
    later(net, 1.0)
    return net


def received(reader: MemoryClient) -> Results:
    return {message.topic: message.payload.decode() for message in reader.messages()}


def noted(reader: MemoryClient) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """With the User Properties, but for the times in them."""
    found = []
    for message in reader.messages():
        user = message.properties.user if message.properties is not None else []
        kept = [(name, value if name == "plus_missing" else "") for name, value in user]
        found.append((message.topic, message.payload.decode(), kept))
    return found


def crossed(node: Node) -> int:
    return sum(link.traffic().messages_received for link in node.mesh.by_name.values())
