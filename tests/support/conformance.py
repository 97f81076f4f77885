"""Tests that are named by the statements of the standard they hold the broker to."""

import pytest

from gossamer.wire.packets import V5, V311, Disconnect, Packet, Publish
from tests.support.memory import MemoryClient

GONE = -1  # the connection was closed without a word


def clauses(v5: str = "", v311: str = "") -> pytest.MarkDecorator:
    """The test runs as a client of each version it has statements for, and is named by them.

    Statements are given without `MQTT-`, several with spaces between. The test takes `version`.
    """
    cases = []
    if v5:
        cases.append(pytest.param(V5, id=named(v5)))
    if v311:
        cases.append(pytest.param(V311, id="3.1.1 " + named(v311)))
    return pytest.mark.parametrize("version", cases)


def named(statements: str) -> str:
    return " ".join(f"MQTT-{statement}" for statement in statements.split())


def ending(client: MemoryClient) -> int | None:
    """How the broker has ended the connection: a reason, GONE, or None if it has not."""
    reason: int | None = None
    for packet in client.take():
        if isinstance(packet, Disconnect):
            reason = packet.reason
    if not client.is_closed:
        assert reason is None
        return None
    return GONE if reason is None else reason


def publications(packets: list[Packet]) -> list[Publish]:
    return [packet for packet in packets if isinstance(packet, Publish)]


def is_alive(client: MemoryClient) -> bool:
    """Whether the broker still answers it."""
    client.send_bytes(b"\xc0\x00")
    return any(packet.kind == 13 for packet in client.take())
