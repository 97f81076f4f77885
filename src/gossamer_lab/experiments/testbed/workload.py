"""What is subscribed and published, in sizes that give the ratios of the paper's equation 5.

Topics are disparate (none contains another) and of one length, so that a subscription costs every
link S bytes and a publication P bytes. Our S is a control message with one interest; our P a QoS 1
PUBLISH and its PUBACK. The payload sets P, and with as many publications as subscriptions SPR is
S / P. Publications start at the first broker of a line, all subscribers are at one broker k, and
k brokers are interested: IBR = k / m. These are our readings; the paper leaves them open.
"""

from typing import Final

from gossamer.mesh.control_messages import ADD, control_packet, encode_interests
from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, Publish

BROKERS: Final = 7
PUBACK_BYTES: Final = 4


def topics(count: int) -> list[str]:
    return [f"testbed/{number:04d}" for number in range(count)]


def subscription_bytes() -> int:
    """S: telling one neighbour one filter."""
    return len(control_packet(ADD, encode_interests(topics(1))))


def publication_bytes(payload: int) -> int:
    """P: one publication over one link."""
    packet = Publish(topics(1)[0], b"x" * payload, 1, packet_id=1)
    return len(encode(packet, V5)) + PUBACK_BYTES


def payload_for(spr: float) -> int:
    """The payload with which S / P comes nearest to this ratio."""
    wanted = subscription_bytes() / spr
    return max(0, round(wanted) - publication_bytes(0))


def spr_of(payload: int) -> float:
    """What a payload of that size really gives."""
    return subscription_bytes() / publication_bytes(payload)


def equation_5(interested: int, spr: float) -> float:
    """T_SF / T_PF, as the paper derives it."""
    return (interested - 1) / (BROKERS - 1) + spr
