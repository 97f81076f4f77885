"""Counts of windows as no broker sends them, and wants that mean nothing: nothing comes of them."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.broker.delivery import publish
from gossamer.mesh.aggregates.partial import MOST_DATA, Partial, read_partial
from gossamer.plus.partial_codec import packed_pieces
from gossamer.plus.registry import AGGREGATES
from gossamer.session.message import Message
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError
from tests.support.directed_messages import a_directed
from tests.support.meshes import Net
from tests.support.window_meshes import end_window, later, line, noted

FRAME = {"to": "b", "kind": "window", "topic": "", "qos": 1, "retain": False}


def one_piece(value: float = 5.0) -> bytes:
    aggregate = AGGREGATES["SUM"].running()
    aggregate.add(value, 0)
    return packed_pieces({"x": aggregate})[0]


def a_partial(
    window: str = "0" * 32,
    number: int = 5,
    broker: str = "evil",
    since: float = 0.5,
    piece: int = 0,
    pieces: int = 1,
    data: bytes = b"",
) -> Partial:
    return Partial(window, number, broker, since, piece, pieces, data)


def test_what_was_packed_reads_back() -> None:
    partial = a_partial(number=1 << 37, since=1.25, piece=1, pieces=65_535, data=b"\n\x00data")
    again = read_partial(partial.packed())
    assert again.packed() == partial.packed()
    assert (again.place(), again.since) == (partial.place(), 1.25)


@given(st.integers(0, 45), st.binary(max_size=8))
def test_damaged_bytes_are_the_neighbours_error_or_say_something_else(
    at: int, damage: bytes
) -> None:
    packed = bytearray(a_partial(data=b"data").packed())
    packed[at : at + len(damage)] = damage
    with suppress(ProtocolError):
        again = read_partial(bytes(packed))
        assert read_partial(again.packed()).packed() == again.packed()


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        a_partial().packed()[:-1],
        b"\x02" + a_partial().packed()[1:],
        a_partial(number=1 << 62).packed(),
        a_partial(since=-1.0).packed(),
        a_partial(since=float("nan")).packed(),
        a_partial(since=float("inf")).packed(),
        a_partial(piece=1).packed(),
        a_partial(pieces=0).packed(),
        a_partial(broker="").packed(),
        a_partial(broker="a/b").packed(),
        a_partial(data=b"x" * (MOST_DATA + 1)).packed(),
    ],
)
def test_what_means_nothing_is_the_neighbours_error(packed: bytes) -> None:
    with pytest.raises(ProtocolError) as found:
        read_partial(packed)
    assert found.value.reason == reasons.MALFORMED_PACKET


@pytest.fixture
def net() -> Net:
    """evil - b - c, with a subscriber at b whose window is open."""
    net = Net("ssf")
    for name in ("evil", "b", "c"):
        net.node(name)
    net.join("evil", "b")
    net.join("c", "b")
    later(net, 1.0)
    reader = net.nodes["b"].client("reader")
    reader.subscribe("$QUARTERHOURLYSUM/+")
    net.run()
    end_window(net)
    later(net, 5.0)
    return net


def send(net: Net, data: bytes, **fields: object) -> None:
    evil = net.nodes["evil"]
    name = next(iter(net.nodes["b"].mesh.windows.subscribed))
    said = {"window": name, "number": int(evil.now // 900), **fields}
    partial = a_partial(**said, data=data)  # type: ignore[arg-type]
    message = a_directed(json.dumps(FRAME), partial.packed())
    evil.mesh.by_name["b"].session.enqueue(message, 1, False, [], "", evil.now)
    net.run()


@pytest.mark.parametrize(
    "payload",
    [b"\xff", b"\x00" * 40, one_piece()[:-1], one_piece() + b"\x01", b"x" * (MOST_DATA + 1)],
)
def test_counts_that_are_none_are_refused(net: Net, payload: bytes) -> None:
    send(net, payload)
    assert net.nodes["b"].mesh.router.refusals == 1
    assert not next(iter(net.nodes["b"].mesh.windows.subscribed.values())).gatherings
    assert net.nodes["b"].mesh.by_name["evil"].connection is not None


def test_nobody_speaks_for_this_broker(net: Net) -> None:
    send(net, one_piece(), broker="b")
    assert net.nodes["b"].mesh.router.refusals == 1


@pytest.mark.parametrize("number", [0, 3, 1 << 37])
def test_windows_that_are_not_open_are_passed_over(net: Net, number: int) -> None:
    send(net, one_piece(), number=number)
    send(net, one_piece(), window="f" * 32)
    windows = net.nodes["b"].mesh.windows
    assert windows.ignored == 2
    assert not next(iter(windows.subscribed.values())).gatherings


def test_what_is_told_again_counts_once(net: Net) -> None:
    reader = net.nodes["b"].client("another")
    reader.subscribe("$QUARTERHOURLYSUM/+")
    for value in (5.0, 7.0, 11.0):
        send(net, one_piece(value), broker="invented")
    send(net, one_piece(100.0), broker="late", since=1e9)
    for piece in (0, 1, 1, 3, 2):
        send(net, one_piece(1000.0), broker="split", piece=piece, pieces=9)
    end_window(net)
    later(net, 3.0)
    assert noted(reader) == [("$QUARTERHOURLYSUM/x", "105.0", [])]
    later(net, 900.0 * 4)
    one = next(iter(net.nodes["b"].mesh.windows.subscribed.values()))
    assert not one.gatherings
    state = one.operation.state
    assert state.held == sum(
        [640 + 4 * len(result.topic) for result in state.last_results(net.nodes["b"].now)]
    )


def test_pieces_that_never_become_whole_have_a_bound(net: Net) -> None:
    account = net.nodes["b"].broker.core.ledger.operators
    account.allow(account.held + 20_000, 1.0, 1.0, 1.0)
    for number in range(100):
        send(net, one_piece(), broker=f"x{number}", pieces=2)
    assert account.held <= account.budget
    assert account.refused > 50


WANTS = [
    "",
    "[]",
    "{}",
    '{"key": 1, "window": "DAILY", "seconds": 86400}',
    '{"key": "skr 0.0 $DAILYAVG/+", "window": "DAILY", "seconds": 1e999}',
    '{"key": "skr 0.0 $DAILYAVG/+", "window": "DAILY", "seconds": 0}',
    '{"key": "skr 0.0 $DAILYAVG/+", "window": "daily", "seconds": 86400}',
    '{"key": "skr 0.0 $AVG/+", "window": "DAILY", "seconds": 86400}',
    '{"key": "skr 0.0 $DAILYAVG/$SYS/#", "window": "DAILY", "seconds": 86400}',
    '{"key": "skr x $DAILYAVG/+", "window": "DAILY", "seconds": 86400}',
    '{"key": "rpt 0.0 $DAILYAVG/+", "window": "DAILY", "seconds": 86400}',
    '{"key": "$DAILYAVG/+", "window": "DAILY", "seconds": 86400}',
    '{"key": "skr 0.0 $DAILYAVG/+", "window": "DAILY", "seconds": 86400}',  # by another name
    '{"key": "skr 0.0 $GT;1$DAILYAVG/#/x", "window": "DAILY", "seconds": 86400}',
]


@pytest.mark.parametrize("text", WANTS)
def test_wants_that_mean_nothing_are_passed_over(text: str) -> None:
    net = line("ssf", "ab")
    a = net.nodes["a"]
    for topic in (
        f"$mesh/windows/a/{'0' * 32}",
        "$mesh/windows/a",
        f"$mesh/windows/b/{'0' * 32}",
        "$mesh/brokers/x",
    ):
        message = Message(topic, text.encode(), 1, True, None, 0.0, "", "")
        publish(a.broker.core, message, None, a.now)
    net.run()
    for node in net.nodes.values():
        assert not node.mesh.windows.directory.wanted
        assert not node.mesh.windows.counting.counts
        assert "x" not in node.mesh.windows.directory._lives
