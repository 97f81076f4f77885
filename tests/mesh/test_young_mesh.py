"""A mesh that grows while messages are published at QoS 0, though nothing fails: none is lost."""

from collections.abc import Callable

import pytest

from gossamer.mesh.settings import MODES
from tests.support.meshes import Net

# Published while a link comes up, one after each chunk of bytes that arrives anywhere.
PUBLISHED = 60


class Growing(Net):
    """Anything may happen between two chunks of bytes."""

    def __init__(self, mode: str) -> None:
        super().__init__(mode)
        self.between: Callable[[], None] = lambda: None

    def run(self) -> None:
        while True:
            for node in self.nodes.values():
                node.broker.flush(node.now)
            if not self.queue:
                return
            wire, data = self.queue.popleft()
            assert data, "nothing ends here"
            now = next(iter(self.nodes.values())).now
            wire.end.receive(data, now)  # type: ignore[attr-defined]
            self.between()


# Names decide between links that cost the same, and these have all orders.
@pytest.mark.parametrize("names", ["xyab", "abxy", "xayb", "bxay"])
@pytest.mark.parametrize("mode", MODES)
def test_no_message_is_lost_while_brokers_and_links_join(mode: str, names: str) -> None:
    first, second, third, fourth = list(names)
    net = Growing(mode)
    for name in (first, second):
        net.node(name)
    net.join(first, second)
    reader = net.nodes[second].client("reader")
    reader.subscribe("t")
    net.run()
    writer = net.nodes[first].client("writer")
    sent: list[str] = []
    came: list[str] = []
    left = 0

    def publish() -> None:
        nonlocal left
        if left:
            left -= 1
            sent.append(str(len(sent)))
            writer.publish("t", sent[-1])
            came.extend(reader.payloads())

    net.between = publish
    for dialler, acceptor in (
        (third, first),
        (third, second),  # a triangle
        (fourth, second),
        (fourth, third),
        (first, fourth),  # all with all
    ):
        for name in (dialler, acceptor):
            if name not in net.nodes:
                net.node(name)
        left = PUBLISHED
        net.join(dialler, acceptor)
        left = 0
        net.run()
        came.extend(reader.payloads())
        assert came == sent
    assert len(sent) > PUBLISHED
