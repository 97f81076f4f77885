"""The printed example of selective subscription forwarding (Hao et al., Figure 9): five brokers, a
star around B5, and subscriptions s2 ⊑ s1 ⊑ s3. What each broker holds of each neighbour is written
down after every step, and how many changes the step cost on all links together.
"""

from gossamer.session.publisher import NEIGHBOUR_PREFIX
from tests.support.meshes import Net

HUB = "B5"
LEAVES = ("B1", "B2", "B3", "B4")
S1, S2, S3 = "room/+/temp", "room/1/temp", "room/#"


def star() -> Net:
    net = Net("ssf")
    for name in (*LEAVES, HUB):
        net.node(name)
    for leaf in LEAVES:
        net.join(leaf, HUB)
    return net


def told(net: Net, by: str, to: str) -> set[str]:
    """What `to` holds that `by` has told it."""
    session = net.nodes[to].broker.core.sessions[NEIGHBOUR_PREFIX + by]
    return set(session.subscriptions)


def changes(net: Net) -> int:
    return sum(
        link.advertiser.interests
        for node in net.nodes.values()
        for link in node.mesh.by_name.values()
    )


def outwards(net: Net) -> dict[str, set[str]]:
    """What the broker in the middle has told each of the others."""
    return {leaf: told(net, HUB, leaf) for leaf in LEAVES}


def inwards(net: Net) -> dict[str, set[str]]:
    return {leaf: told(net, leaf, HUB) for leaf in LEAVES}


def test_the_example_of_figure_9() -> None:
    net = star()
    at_b1 = net.nodes["B1"].client("c1")
    at_b3 = net.nodes["B3"].client("c3")
    count = changes(net)

    at_b1.subscribe(S1)  # (a) flooded: B1 to B5, and B5 to the three others
    net.run()
    assert inwards(net) == {"B1": {S1}, "B2": set(), "B3": set(), "B4": set()}
    assert outwards(net) == {"B1": set(), "B2": {S1}, "B3": {S1}, "B4": {S1}}
    assert changes(net) - count == 4
    count = changes(net)

    at_b3.subscribe(S2)  # (b) B5 has told s1, so only B1 has to hear of s2
    net.run()
    assert inwards(net) == {"B1": {S1}, "B2": set(), "B3": {S2}, "B4": set()}
    assert outwards(net) == {"B1": {S2}, "B2": {S1}, "B3": {S1}, "B4": {S1}}
    assert changes(net) - count == 2
    count = changes(net)

    at_b3.subscribe(S3)  # (c) it takes the place of s2 and, where B3 is behind, of s1
    net.run()
    assert inwards(net) == {"B1": {S1}, "B2": set(), "B3": {S3}, "B4": set()}
    assert outwards(net) == {"B1": {S3}, "B2": {S3}, "B3": {S1}, "B4": {S3}}
    assert changes(net) - count == 8
    count = changes(net)

    at_b3.unsubscribe(S3)  # (d) what it had taken the place of is told again
    net.run()
    assert inwards(net) == {"B1": {S1}, "B2": set(), "B3": {S2}, "B4": set()}
    assert outwards(net) == {"B1": {S2}, "B2": {S1}, "B3": {S1}, "B4": {S1}}
    assert changes(net) - count == 8
