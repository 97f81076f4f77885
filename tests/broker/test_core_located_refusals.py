"""GLP that makes no sense is refused with words, and nothing is half applied."""

import pytest

from gossamer.wire import reasons
from gossamer.wire.packets import (
    PUBACK,
    PUBREC,
    Acknowledgement,
    Publish,
    Request,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
    Will,
)
from tests.support.located import (
    OSLO,
    PISA,
    ROUND_ME,
    ROUND_PISA,
    User,
    answer,
    connect_with,
    publish_everywhere,
    with_user,
)
from tests.support.memory import World, properties


@pytest.fixture
def world() -> World:
    return World()


BAD: list[tuple[User, str]] = [
    ([("gpl_current_pos", "91;0")], "gpl_current_pos '91;0': latitude"),
    ([("gpl_current_pos", "NaN;0")], "is not a number"),
    ([("gpl_circleStatic", "1;m;1;0;0;1e400")], "gpl_circleStatic"),
    ([("gpl_circleStatic", "1;m;1;0;0;-4")], "is not more than 0"),
    ([("gpl_circleStatic", "1;furlong;1;0;0;4")], "unit 'furlong'"),
    ([("gpl_lineStart", "1;m;1;0;0;4")], "the line has no gpl_lineEnd"),
    ([("gpl_polygonStatic", "1;m;1;0;0;1;1;0;1;1;0")], "crosses or touches itself"),
    ([ROUND_PISA, ("gpl_rectangleStatic", "1;m;1;0;0;5;5")], "area 1 is a circle already"),
    ([("gpl_circleDynamic", f"{i};m;1;5") for i in range(10_000)], "more than"),
    ([("gpl_nonsense", "1")], "there is no such entry"),
]


@pytest.mark.parametrize(("user", "why"), BAD, ids=range(len(BAD)))
def test_a_bad_subscription_is_refused_and_changes_nothing(
    world: World, user: User, why: str
) -> None:
    reader = world.client("r")
    reader.subscribe("t", user=[PISA, ROUND_ME])
    requests = [Request("t", 1), Request("new")]
    bad = user if user[0][0] == "gpl_current_pos" else [OSLO, *user]
    reader.send(Subscribe(9, requests, properties(user=bad)))
    packet = answer(reader)
    assert isinstance(packet, Suback)
    assert packet.reasons == [reasons.IMPLEMENTATION_SPECIFIC_ERROR] * 2
    assert packet.properties is not None
    assert why in (packet.properties.reason_string or "")
    publish_everywhere(world.client("w"))
    assert reader.payloads() == ["pisa", "nowhere"]
    assert not reader.is_closed


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize(("user", "why"), BAD, ids=range(len(BAD)))
def test_a_bad_publication_is_refused_and_goes_nowhere(
    world: World, user: User, why: str, qos: int
) -> None:
    reader, writer = world.client("r"), world.client("w")
    reader.subscribe("t")
    writer.publish("position", "", user=[PISA])
    bad = user if user[0][0] == "gpl_current_pos" else [OSLO, *user]
    writer.send(Publish("t", b"x", qos, True, False, 7 if qos else 0, properties(user=bad)))
    if qos:
        packet = answer(writer)
        assert isinstance(packet, Acknowledgement)
        assert packet.kind == (PUBACK if qos == 1 else PUBREC)
        assert packet.reason in (
            reasons.PAYLOAD_FORMAT_INVALID,
            reasons.IMPLEMENTATION_SPECIFIC_ERROR,
        )
        assert packet.properties is not None
        assert why in (packet.properties.reason_string or "")
    assert reader.payloads() == []
    assert not writer.is_closed
    assert world.broker.core.counters.publications_refused == 1
    assert len(world.broker.core.retained) == 1  # the broker's own
    assert world.broker.core.locations.position("w", world.now).lat == 43.72  # type: ignore[union-attr]


def test_an_unsubscribe_with_bad_glp_leaves_the_subscription(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("t")
    reader.send(Unsubscribe(2, ["t"], properties(user=[("gpl_current_pos", "north")])))
    packet = answer(reader)
    assert isinstance(packet, Unsuback)
    assert packet.reasons == [reasons.IMPLEMENTATION_SPECIFIC_ERROR]
    world.client("w").publish("t", "x")
    assert reader.payloads() == ["x"]


def test_a_connect_with_bad_glp_is_refused(world: World) -> None:
    reader = world.visitor()
    reader.send_bytes(connect_with("r", ("gpl_current_pos", "91;0")))
    (packet,) = reader.take()
    assert packet.reason == reasons.PAYLOAD_FORMAT_INVALID  # type: ignore[attr-defined]
    assert reader.is_closed
    assert "r" not in world.broker.core.sessions
    will = Will("t", b"x", 0, False, with_user(("gpl_oops", "1")))
    reader = world.visitor()
    reader.connect("r", will=will)
    assert reader.connack.reason == reasons.PAYLOAD_FORMAT_INVALID


# Hints --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filter", "meant"), [("$Avg/t", "$AVG/t"), ("$GT:3/t", "$GT;3/t"), ("$$GT;3/t", "$GT;3/t")]
)
def test_operators_that_are_misspelt_are_refused_with_the_right_spelling(
    world: World, filter: str, meant: str
) -> None:
    client = world.client("c")
    client.send(Subscribe(1, [Request(filter), Request("plain")], None))
    packet = answer(client)
    assert isinstance(packet, Suback)
    assert packet.reasons == [reasons.TOPIC_FILTER_INVALID, 0]
    assert packet.properties is not None
    assert f"is {meant} meant?" in (packet.properties.reason_string or "")


def test_keys_that_look_like_glp_are_allowed_and_pointed_out(world: World) -> None:
    client = world.client("c")
    client.send(Subscribe(1, [Request("t")], properties(user=[("glp_circleStatic", "x")])))
    packet = answer(client)
    assert isinstance(packet, Suback)
    assert packet.reasons == [0]
    assert packet.properties is not None
    assert "is gpl_circleStatic meant?" in (packet.properties.reason_string or "")
    publish_everywhere(world.client("w"))
    assert client.payloads() == ["pisa", "oslo", "nowhere"]


def test_areas_in_an_unsubscribe_are_ignored_and_said_so(world: World) -> None:
    client = world.client("c")
    client.subscribe("t", user=[PISA, ROUND_PISA, ROUND_ME])
    client.send(Unsubscribe(2, ["t", "u"], properties(user=[OSLO, ROUND_PISA])))
    packet = answer(client)
    assert isinstance(packet, Unsuback)
    assert packet.reasons == [0, reasons.NO_SUBSCRIPTION_EXISTED]
    assert packet.properties is not None
    assert "are ignored" in (packet.properties.reason_string or "")
    publish_everywhere(world.client("w"))
    assert client.payloads() == []
    client.subscribe("t", user=[ROUND_ME])  # the position in the packet counts
    publish_everywhere(world.client("w"))
    assert client.payloads() == ["oslo", "nowhere"]


def test_the_paper_s_full_unsubscription_has_no_reason_string(world: World) -> None:
    client = world.client("c")
    client.subscribe("t", user=[PISA, ROUND_PISA])
    client.send(Unsubscribe(2, ["t"], properties(user=[OSLO])))
    packet = answer(client)
    assert isinstance(packet, Unsuback)
    assert packet.properties is None or packet.properties.reason_string is None
