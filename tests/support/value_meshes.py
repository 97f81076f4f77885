"""Brokers in a line that tell each other last values: what one subscribed, and its last result."""

from itertools import pairwise

from gossamer.mesh.aggregates.subscribed_values import SubscribedValues
from tests.support.memory import MemoryClient
from tests.support.meshes import Net
from tests.support.window_meshes import later


def line(mode: str = "ssf", form: str = "partial", names: str = "abc", **options: object) -> Net:
    net = Net(mode)
    for name in names:
        net.node(name, **options).mesh.settings.aggregates = form
    for one, other in pairwise(names):
        net.join(one, other)
    later(net, 1.0)
    return net


def subscribed(net: Net, broker: str = "c") -> SubscribedValues:
    (one,) = net.nodes[broker].mesh.windows.values.subscribed.values()
    return one


def last(reader: MemoryClient) -> str:
    """The last result that came; "" for none."""
    messages = reader.messages()
    return messages[-1].payload.decode() if messages else ""
