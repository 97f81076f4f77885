"""Fields as long as MQTT allows: each is answered by the rules, and never by a fault."""

import pytest

from gossamer.broker.replies import LONGEST_REASON
from gossamer.wire.packets import V5, V311, Connack, Disconnect, Request, Suback, Subscribe, Will
from tests.support.memory import World

LENGTHS = (65_530, 65_534, 65_535)


@pytest.mark.parametrize("length", LENGTHS)
def test_a_long_authentication_method_is_refused(length: int) -> None:
    """[MQTT-4.12.0-1]"""
    world = World()
    visitor = world.visitor()
    visitor.connect("c", authentication_method="m" * length)
    assert visitor.connack.reason == 0x8C
    assert visitor.connack.properties is not None
    text = visitor.connack.properties.reason_string
    assert text is not None
    assert text.endswith("is not an accepted method")
    assert len(text) < LONGEST_REASON + 10
    assert visitor.is_closed


@pytest.mark.parametrize("version", [V311, V5])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("letter", ["x", "é", "€", "𝄞"])
@pytest.mark.parametrize("before", ["$gossamer/", "$AVG/", "$NOSUCH;", "a/#/", "$share/g/", ""])
def test_a_long_filter_is_answered(version: int, length: int, letter: str, before: str) -> None:
    world = World()
    client = world.client("c", version)
    room = length - len(before)
    filter = before + letter * (room // len(letter.encode()))
    filter += "x" * (length - len(filter.encode()))
    client.send(Subscribe(1, [Request(filter, 1), Request("ok", 1)]))
    [answer] = client.take()
    assert isinstance(answer, Suback)
    assert answer.reasons[1] == 1
    if before in ("$gossamer/", "$NOSUCH;", "a/#/"):
        assert answer.reasons[0] >= 0x80
    if before == "$gossamer/" and version == V5:
        assert answer.reasons[0] == 0x87
        assert answer.properties is not None
        assert answer.properties.reason_string is not None
    assert not client.is_closed


def test_a_reason_that_does_not_fit_is_left_out() -> None:
    """[MQTT-3.9.2-1]"""
    world = World()
    client = world.client("c", maximum_packet_size=30)
    client.send(Subscribe(1, [Request("$gossamer/" + "x" * 60_000, 0)]))
    [answer] = client.take()
    assert isinstance(answer, Suback)
    assert answer.reasons == [0x87]
    assert answer.properties is None or answer.properties.reason_string is None


def test_a_long_will_topic_that_is_not_allowed() -> None:
    world = World()
    visitor = world.visitor()
    visitor.connect("c", will=Will("$gossamer/" + "x" * 65_000, b"", 0, False, None))
    packets = visitor.take()
    assert visitor.connack.reason >= 0x80
    assert not [one for one in packets if isinstance(one, Connack | Disconnect)]
