"""Signs of life: what an idle link costs, and when a silent neighbour is taken for gone."""

import pytest

from tests.support.meshes import Net

TICK = 0.25  # as often as a broker looks at what is due
HEADERS = 52  # bytes of IP and TCP for each segment
WANTED_BYTES = 200  # a second, both ways together, with the headers of all segments


def pair() -> Net:
    net = Net()
    for name in "ab":
        net.node(name)
    net.join("a", "b")  # `a` dials
    return net


def pass_time(net: Net, seconds: float) -> None:
    for _ in range(round(seconds / TICK)):
        for node in net.nodes.values():
            node.wait(TICK)
        net.run()


def silence(net: Net) -> None:
    """Nothing more gets across, and neither end knows."""
    for wire in net.links["a", "b"]:
        wire.other = None


def stands(net: Net, name: str, neighbour: str) -> bool:
    return net.nodes[name].mesh.by_name[neighbour].connection is not None


def count_writes(net: Net, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    written: list[bytes] = []
    kind = type(net.links["a", "b"][0])
    write = kind.write

    def noted(self: object, data: bytes) -> None:
        written.append(data)
        write(self, data)  # type: ignore[arg-type]

    monkeypatch.setattr(kind, "write", noted)
    return written


def test_what_an_idle_link_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    net = pair()
    pass_time(net, 10)  # until it is certain how far away they are
    written = count_writes(net, monkeypatch)
    seconds = 600
    pass_time(net, seconds)
    # An answer takes the acknowledgement of what it answers along; it has one of its own.
    segments = len(written) * 1.5
    assert (sum(map(len, written)) + HEADERS * segments) / seconds < WANTED_BYTES
    assert stands(net, "a", "b")
    assert stands(net, "b", "a")


@pytest.mark.parametrize("idle", [0.25, 3.0, 3.25, 3.5, 3.75, 4.0])
@pytest.mark.parametrize("name", ["a", "b"])
def test_a_silent_neighbour_of_an_idle_link(name: str, idle: float) -> None:
    net = pair()
    pass_time(net, 10 + idle)
    silence(net)
    pass_time(net, 1.0)
    assert stands(net, name, "ba"["ab".index(name)])  # it may be held up for so long
    pass_time(net, 2.0)
    assert not stands(net, name, "ba"["ab".index(name)])


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("name", ["a", "b"])
def test_a_silent_neighbour_that_is_sent_messages(name: str, qos: int) -> None:
    net = pair()
    other = "ba"["ab".index(name)]
    reader = net.nodes[other].client("reader")
    reader.subscribe("t", qos=2)
    net.run()
    writer = net.nodes[name].client("writer")
    pass_time(net, 10)
    silence(net)
    for number in range(1, 8):
        writer.publish("t", "x", qos=qos, packet_id=number if qos else 0)
        pass_time(net, TICK)
    assert not stands(net, name, other)


def test_a_broker_that_was_held_up_judges_nobody() -> None:
    net = pair()
    pass_time(net, 10)
    net.nodes["a"].wait(30.0)
    net.run()
    assert stands(net, "a", "b")
    for _ in range(20):
        net.nodes["a"].wait(TICK)
        net.run()
    assert stands(net, "a", "b")
