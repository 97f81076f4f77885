"""Places, areas and clients for tests of located subscriptions."""

from gossamer.wire.codec import encode
from gossamer.wire.packets import (
    V5,
    Connect,
    Packet,
)
from gossamer.wire.properties import Properties
from tests.support.memory import MemoryClient, properties

User = list[tuple[str, str]]

PISA = ("gpl_current_pos", "43.72;10.40")
NEAR_PISA = ("gpl_current_pos", "43.721;10.401")
OSLO = ("gpl_current_pos", "59.91;10.75")
NEAR_OSLO = ("gpl_current_pos", "59.911;10.751")
ROUND_PISA = ("gpl_circleStatic", "1;km;1;43.72;10.40;5")
ROUND_OSLO = ("gpl_circleStatic", "2;km;1;59.91;10.75;5")
ROUND_ME = ("gpl_circleDynamic", "3;km;1;5")


def publish_everywhere(writer: MemoryClient, topic: str = "t") -> None:
    writer.publish(topic, "pisa", user=[PISA])
    writer.publish(topic, "oslo", user=[OSLO])
    writer.publish(topic, "nowhere")


def answer(client: MemoryClient) -> Packet:
    packets = client.take()
    assert len(packets) == 1
    return packets[0]


def connect_with(name: str, *user: tuple[str, str], expiry: int = 0, clean: bool = True) -> bytes:
    props = properties(user=list(user), session_expiry=expiry)
    return encode(Connect(name, V5, clean, properties=props), V5)


def with_user(*user: tuple[str, str]) -> Properties:
    return properties(user=list(user))
