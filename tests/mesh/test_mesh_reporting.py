"""What a broker says of its links: counts, `$SYS/mesh/`, and what is left of a forgotten one."""

from gossamer.mesh.overview import PREFIX
from gossamer.mesh.sys_topics import link_counts, start_reporting, statistics
from tests.support.meshes import Net, Node


def pair(mode: str = "ssf") -> Net:
    net = Net(mode)
    for name in "ab":
        net.node(name)
    net.join("a", "b")
    return net


def counts(node: Node, neighbour: str) -> dict[str, int]:
    return link_counts(node.mesh, node.mesh.by_name[neighbour])


def test_both_ends_count_the_same() -> None:
    net = pair()
    net.nodes["b"].client("reader").subscribe("t/+", "u")
    net.run()
    writer = net.nodes["a"].client("writer")
    for number in range(5):
        writer.publish("t/1", "x" * number, qos=number % 3, packet_id=number + 1)
    net.run()
    near, far = counts(net.nodes["a"], "b"), counts(net.nodes["b"], "a")
    assert near["messages_sent"] == far["messages_received"] == 5
    assert near["messages_received"] == far["messages_sent"] == 0
    assert near["interests_held"] == far["interests_told"] == 2
    for direction, other in (("sent", "received"), ("received", "sent")):
        for field in ("control_messages", "control_bytes"):
            assert near[f"{field}_{direction}"] == far[f"{field}_{other}"] > 0
    assert near["bytes_sent"] > near["control_bytes_sent"]
    assert near["queued"] == near["inflight"] == 0


def test_a_cut_forgets_no_count() -> None:
    net = pair()
    net.nodes["b"].client("reader", expiry=1000).subscribe("t", qos=1)
    net.run()
    writer = net.nodes["a"].client("writer")
    writer.publish("t", qos=1)
    net.run()
    before = counts(net.nodes["a"], "b")
    net.cut("a", "b")
    assert counts(net.nodes["a"], "b")["bytes_sent"] == before["bytes_sent"]
    writer.publish("t", qos=1, packet_id=2)
    net.run()
    assert counts(net.nodes["a"], "b")["queued"] == 1
    net.join("a", "b")
    after = counts(net.nodes["a"], "b")
    assert after["messages_sent"] == 2
    assert after["bytes_sent"] > before["bytes_sent"]
    assert after["queued"] == 0


def test_bits_are_counted_in_bloom_mode() -> None:
    net = pair("bloom")
    net.nodes["b"].client("reader").subscribe("some/topic")
    net.run()
    near, far = counts(net.nodes["a"], "b"), counts(net.nodes["b"], "a")
    assert near["interests_held"] == far["interests_told"] > 0


def test_topics_under_sys() -> None:
    net = pair()
    a = net.nodes["a"]
    assert statistics(a.mesh)["links/connected"] == "1"
    a.settings.sys_interval = 10.0
    start_reporting(a.mesh, a.now)
    a.wait(1)
    operator = a.client("operator")
    operator.subscribe("$SYS/mesh/#")
    told = {message.topic: message.payload for message in operator.messages()}
    assert told["$SYS/mesh/mode"] == b"ssf"
    assert told["$SYS/mesh/link/b/connected"] == b"1"
    assert told["$SYS/mesh/link/b/interests/held"] == b"0"
    net.nodes["b"].client("reader").subscribe("t")
    net.run()
    a.wait(10)
    news = {message.topic: message.payload for message in operator.messages()}
    assert news["$SYS/mesh/link/b/interests/held"] == b"1"
    assert "$SYS/mesh/mode" not in news
    net.cut("a", "b")
    assert a.mesh.neighbour_table.forget("b", a.now)
    assert not a.mesh.neighbour_table.forget("b", a.now)
    a.wait(10)
    late = a.client("late")
    late.subscribe("$SYS/mesh/#")
    left = {message.topic for message in late.messages()}
    of_links = {topic for topic in left if not topic.startswith(PREFIX)}
    assert of_links == {f"$SYS/mesh/{name}" for name in statistics(a.mesh)}
    assert "$SYS/mesh/link/b/connected" not in left
