"""Three brokers in a line, in every mode: links, interest, messages, groups, roaming."""

from functools import partial

from gossamer.mesh.settings import MODES
from tests.leaks.message_paths import Paths
from tests.support.leakage import Round
from tests.support.located import NEAR_OSLO, NEAR_PISA, OSLO, PISA, ROUND_ME, ROUND_PISA
from tests.support.memory import MemoryClient
from tests.support.meshes import Net


def line(mode: str, compresses: bool = False) -> Net:
    net = Net(mode)
    for name in "abc":
        net.node(name)
    net.join("a", "b", compresses)
    net.join("c", "b", compresses)
    return net


def later(net: Net, seconds: float) -> None:
    """Time passes for all, and nobody takes the silence of a link for its death."""
    for near, far in net.links.values():
        near.end.connection.last_seen = far.end.last_seen = 1e12  # type: ignore[attr-defined]
    for node in net.nodes.values():
        node.wait(seconds)
    net.run()


def settle(net: Net, *clients: MemoryClient) -> None:
    for _ in range(3):
        net.run()
        for client in clients:
            client.messages()


def messages(mode: str) -> Round:
    """At every QoS over two links, while subscriptions come and go."""
    net = line(mode)
    writer = net.nodes["a"].client("w")
    steady = net.nodes["c"].client("steady")
    steady.subscribe("t/#", "$share/g/u", qos=2)
    settle(net, steady)

    def go() -> None:
        reader = net.nodes["b"].client("r")
        reader.subscribe("t/a", "x/+/y", "$share/g/u", qos=1)
        settle(net, reader)
        for qos in (0, 1, 2):
            for topic in ("t/a", "x/1/y", "u", "unwanted"):
                writer.publish(topic, qos=qos)
        settle(net, writer, reader, steady)
        reader.disconnect()
        later(net, 1.0)

    return go


def retained(mode: str) -> Round:
    net = line(mode)
    writer = net.nodes["a"].client("w")

    def go() -> None:
        for payload in ("kept", "kept again", ""):
            writer.publish("r/t", payload, qos=1, retain=True)
            settle(net, writer)
        later(net, 1.0)

    return go


def links(mode: str, compresses: bool = False) -> Round:
    """A link breaks with messages waiting for it, and comes again."""
    net = line(mode, compresses)
    writer = net.nodes["a"].client("w")
    reader = net.nodes["c"].client("r")
    reader.subscribe("t/#", qos=1)
    settle(net, reader)

    def go() -> None:
        net.cut("a", "b")
        writer.publish("t/x", qos=1)
        settle(net, writer, reader)
        net.join("a", "b", compresses)
        later(net, 1.0)
        settle(net, writer, reader)

    return go


def compressed_links(mode: str) -> Round:
    return links(mode, True)


def broken_links_on_the_way(mode: str) -> Round:
    """A neighbour waits for its answer until the next one comes again."""
    net = line(mode)
    writer = net.nodes["a"].client("w")
    reader = net.nodes["c"].client("r")
    reader.subscribe("t/#", qos=2)
    settle(net, reader)

    def go() -> None:
        for wire in net.links["c", "b"]:
            wire.other = None  # nothing gets across, and neither end knows
        for qos in (1, 2):
            writer.publish("t/x", qos=qos)
        settle(net, writer)
        net.cut("c", "b")
        net.join("c", "b")
        later(net, 1.0)
        settle(net, writer, reader)

    return go


def roaming(mode: str) -> Round:
    """A session that follows its client round and round."""
    net = line(mode)
    writer = net.nodes["b"].client("w")

    def go() -> None:
        for broker in "abc":
            roamer = net.nodes[broker].visitor()
            roamer.connect("roamer", clean=False, expiry=100_000)
            settle(net, roamer)
            roamer.subscribe("t/+", qos=1)
            settle(net, roamer)
            writer.publish("t/1", qos=1)
            settle(net, writer, roamer)
            roamer.lose()
            writer.publish("t/2", qos=1)
            settle(net, writer)
            for _ in range(4):
                later(net, 20.0)

    return go


def conditions(mode: str) -> Round:
    """Rules and areas come and go, clients walk, and a filter that contains all comes between."""
    net = line(mode)
    writer = net.nodes["a"].client("w")
    steady = net.nodes["c"].client("steady")
    steady.subscribe("$GT;30/t/#", qos=1)
    settle(net, steady)

    def go() -> None:
        reader = net.nodes["b"].client("r")
        reader.subscribe(*[f"$GTE;{10 * low}$LT;{10 * low + 5}/t/a" for low in range(8)], qos=1)
        reader.subscribe("t/+", qos=1, user=[ROUND_PISA, ROUND_ME])
        for place in (PISA, OSLO, NEAR_OSLO):
            reader.publish("position", user=[place])
            settle(net, reader)
            for qos in (0, 1, 2):
                writer.publish("t/a", str(10 * qos), qos=qos, user=[place])
                writer.publish("t/b", "7", qos=qos, user=[NEAR_PISA])
        settle(net, writer, reader, steady)
        reader.subscribe("#")
        settle(net, reader)
        reader.unsubscribe("#")
        settle(net, reader)
        reader.disconnect()
        later(net, 1.0)

    return go


def windows(mode: str, is_cut: bool = False) -> Round:
    """Counted by each broker."""
    net = line(mode)
    writers = [node.client("w" + name) for name, node in net.nodes.items()]
    reader = net.nodes["a"].client("r")
    reader.subscribe("$QUARTERHOURLYSUM/+", "$AVG$QUARTERHOURLYP95/+")
    settle(net, reader)

    def go() -> None:
        other = net.nodes["b"].client("o")
        other.subscribe("$QUARTERHOURLYLAST/+")
        for number in range(10):
            for writer in writers:
                writer.publish(f"t{number}", "1.5", qos=1)
        settle(net, other, *writers)
        if is_cut:
            net.cut("a", "b")
        later(net, 900.0)
        if is_cut:
            net.join("a", "b")
        other.disconnect()
        later(net, 5.0)
        settle(net, reader)

    return go


def last_values(mode: str) -> Round:
    """Told by each broker, some at once."""
    net = line(mode)
    for node in net.nodes.values():
        node.mesh.settings.aggregates = "partial"
    writers = [node.client("w" + name) for name, node in net.nodes.items()]
    reader = net.nodes["a"].client("r")
    reader.subscribe("$SUM/+", "$P95/+")
    settle(net, reader)

    def go() -> None:
        for number in range(10):
            for writer in writers:
                writer.publish(f"t{number}", "1.5", qos=1)
        later(net, 2.0)
        settle(net, reader, *writers)

    return go


def windows_over_broken_links(mode: str) -> Round:
    """Brokers that are away correct the result."""
    return windows(mode, True)


MESH: Paths = {
    f"{what.__name__}, {mode}": partial(what, mode)
    for what in (
        messages,
        retained,
        links,
        compressed_links,
        broken_links_on_the_way,
        roaming,
        conditions,
        windows,
        last_values,
        windows_over_broken_links,
    )
    for mode in MODES
}
