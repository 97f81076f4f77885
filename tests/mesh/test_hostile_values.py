"""Last values as no broker tells them: nothing comes of them, and the link stands."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.mesh.aggregates.told import MOST_DATA, ToldValues, read_told
from gossamer.plus.entered_values import ToldValue
from gossamer.plus.value_codec import packed_values, unpacked_values
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError
from tests.support.directed_messages import a_directed
from tests.support.meshes import Net
from tests.support.value_meshes import last, line, subscribed
from tests.support.window_meshes import later

FRAME = {"to": "b", "kind": "values", "topic": "", "qos": 1, "retain": False}
WALL = 1_700_000_000_000_000

topics = st.text(st.characters(exclude_characters="\0+#", exclude_categories=["Cs"]), min_size=1)
values = st.builds(
    ToldValue,
    st.one_of(st.integers(-(1 << 50), 1 << 50).map(float), st.floats(-1e300, 1e300)),
    st.booleans(),
    st.integers(0, WALL),
    st.floats(0.0, 2e9),
)


@given(st.dictionaries(topics, values, max_size=30))
def test_what_was_packed_reads_back(told: dict[str, ToldValue]) -> None:
    again: dict[str, ToldValue] = {}
    for piece in packed_values(told):
        again.update(unpacked_values(piece))
    assert set(again) == set(told)
    for topic, value in told.items():
        other = again[topic]
        assert (other.is_out, other.order) == (value.is_out, value.order)
        if not value.is_out:
            assert other.value == value.value
            entered = value.order / 1e6
            assert abs(other.valid_until - max(value.valid_until, entered)) < 0.002


@given(st.dictionaries(topics, values, min_size=1, max_size=5), st.integers(0, 99), st.binary())
def test_damaged_bytes_say_something_else_or_are_refused(
    told: dict[str, ToldValue], at: int, damage: bytes
) -> None:
    piece = bytearray(packed_values(told)[0])
    piece[at : at + len(damage)] = damage
    with suppress(ValueError):
        unpacked_values(bytes(piece))


def test_many_topics_are_pieces_of_a_bounded_size() -> None:
    told = {
        f"{number:05d}" + "x" * 300: ToldValue(1.5, False, WALL, 2e9) for number in range(2_500)
    }
    pieces = packed_values(told)
    assert sum(len(unpacked_values(piece)) for piece in pieces) == 2_500
    assert max(map(len, pieces)) < MOST_DATA


def message(data: bytes = b"", broker: str = "evil", wanted: str = "0" * 32) -> ToldValues:
    return ToldValues(wanted, broker, 1, 2, data)


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        message().packed()[:-1],
        b"\x02" + message().packed()[1:],
        message(broker="").packed(),
        message(broker="a/b").packed(),
        message(b"x" * (MOST_DATA + 1)).packed(),
    ],
)
def test_what_means_nothing_is_the_neighbours_error(packed: bytes) -> None:
    with pytest.raises(ProtocolError) as found:
        read_told(packed)
    assert found.value.reason == reasons.MALFORMED_PACKET


@pytest.fixture
def net() -> Net:
    """evil - b - c, with a subscriber at b."""
    net = line(names="")
    for name in ("evil", "b", "c"):
        net.node(name).mesh.settings.aggregates = "partial"
    net.join("evil", "b")
    net.join("c", "b")
    later(net, 1.0)
    net.nodes["b"].client("reader").subscribe("$SUM/+")
    net.run()
    return net


def send(net: Net, told: ToldValues) -> None:
    evil = net.nodes["evil"]
    sent = a_directed(json.dumps(FRAME), told.packed())
    evil.mesh.by_name["b"].session.enqueue(sent, 1, False, [], "", evil.now)
    net.run()


@pytest.mark.parametrize("data", [b"\xff", b"\0" * 40, b"\x01\x01\x00\x00\x01x\x03"])
def test_values_that_are_none_are_refused(net: Net, data: bytes) -> None:
    send(net, message(data, wanted=subscribed(net, "b").wanted.name))
    assert net.nodes["b"].mesh.router.refusals == 1
    assert net.nodes["b"].mesh.by_name["evil"].connection is not None
    assert subscribed(net, "b").state.topics() == 0


def test_nobody_speaks_for_this_broker_or_of_what_it_does_not_want(net: Net) -> None:
    send(net, message(broker="b", wanted=subscribed(net, "b").wanted.name))
    assert net.nodes["b"].mesh.router.refusals == 1
    send(net, message())
    assert net.nodes["b"].mesh.windows.values.ignored == 1


def test_what_is_told_again_or_late_changes_nothing(net: Net) -> None:
    reader = net.nodes["b"].client("another")
    reader.subscribe("$SUM/+")
    wanted = subscribed(net, "b").wanted.name
    wall = int(net.nodes["b"].now * 1e6)
    told = ((5.0, wall), (7.0, wall + 5), (9.0, wall + 3), (7.0, wall + 5), (5.0, wall))
    for value, order in told:
        (piece,) = packed_values({"x": ToldValue(value, False, order, 1e10)})
        send(net, message(piece, wanted=wanted))
    assert last(reader) == "7.0"
    (piece,) = packed_values({"x": ToldValue(0.0, True, wall + 9, 0.0)})
    send(net, message(piece, wanted=wanted))
    assert subscribed(net, "b").state.topics() == 0
    (piece,) = packed_values({"x": ToldValue(3.0, False, wall + 8, 1e10)})
    send(net, message(piece, wanted=wanted))
    assert subscribed(net, "b").state.topics() == 0


def test_what_is_told_has_a_bound(net: Net) -> None:
    account = net.nodes["b"].broker.core.ledger.operators
    account.allow(account.held + 20_000, 1.0, 1.0, 1.0)
    wanted = subscribed(net, "b").wanted.name
    wall = int(net.nodes["b"].now * 1e6)
    told = {f"{number:05d}": ToldValue(1.0, False, wall + number, 1e10) for number in range(900)}
    for piece in packed_values(told):
        send(net, message(piece, wanted=wanted))
    assert account.held <= account.budget
    assert 0 < subscribed(net, "b").state.topics() < 100
