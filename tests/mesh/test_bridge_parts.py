"""The parts of a link to a broker of another make: filters, marks, replays, claims."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.mesh.bridges.bridge import BridgeInterest, BridgeSettings
from gossamer.mesh.bridges.bridges import SILENCE_SECONDS, Ownership, encode_claims
from gossamer.mesh.bridges.loop_prevention import (
    REPLAY_SECONDS,
    MarkingSink,
    RetainedReplays,
    SentThere,
    echoes,
    has_mark,
    mark_of,
)
from gossamer.net.config import ConfigError, parse
from gossamer.topics.containment import contains, meet
from gossamer.topics.names import matches
from gossamer.wire.codec import decode, encode
from gossamer.wire.errors import ProtocolError
from gossamer.wire.frames import header_length, packet_length
from gossamer.wire.packets import V5, V311, Pingreq, Publish
from tests.support.memory import MemorySink, properties
from tests.support.topic_strategies import filters, topics

ROOT = "[mesh]\nname = 'a'\nkey_file = 'k'\n[[mesh.stock]]\nname = 'p'\nhost = 'h'\n"


@given(filters(), filters(), topics())
def test_a_meeting_matches_what_both_match(a: str, b: str, topic: str) -> None:
    both = meet(a, b)
    assert (matches(a, topic) and matches(b, topic)) == (both is not None and matches(both, topic))


@given(
    st.lists(filters(), min_size=1, max_size=3),
    st.lists(st.tuples(st.booleans(), filters()), max_size=12),
    st.booleans(),
    st.lists(topics(), max_size=20),
)
def test_wishes_are_what_is_asked_within_what_is_allowed(
    imports: list[str], steps: list[tuple[bool, str]], is_blind: bool, published: list[str]
) -> None:
    wants = BridgeInterest(tuple(imports))
    asked: list[str] = []
    for is_new, filter in steps:
        if is_new or not asked:
            asked.append(filter)
            wants.add(filter)
        else:
            wants.remove(asked.pop())
    wants.set_blind(is_blind)
    for topic in published:
        is_allowed = any(matches(filter, topic) for filter in imports)
        is_asked = is_blind or any(matches(filter, topic) for filter in asked)
        is_wanted = any(matches(filter, topic) for filter in wants.wanted)
        assert is_wanted == (is_allowed and is_asked)
    for one in wants.wanted:
        assert not any(other != one and contains(other, one) for other in wants.wanted)


@given(st.lists(st.tuples(st.integers(0, 2), st.binary(max_size=200), st.booleans()), max_size=5))
def test_every_publication_is_marked_and_nothing_else(
    messages: list[tuple[int, bytes, bool]],
) -> None:
    sink = MemorySink()
    marking = MarkingSink(sink, mark_of("m"), lambda topic, payload: None)
    data = b""
    for qos, payload, has_user in messages:
        user = properties(user=[("k", "v" * 100)]) if has_user else None
        packet_id = 7 if qos else 0
        data += encode(Publish("t", payload, qos, packet_id=packet_id, properties=user), V5)
        data += encode(Pingreq(), V5)
    middle = len(data) // 2
    marking.write(data[:middle])
    marking.write(data[middle:])
    found: list[Publish] = []
    position = 0
    while position < len(sink.data):
        size = packet_length(sink.data, position)
        body = sink.data[position + header_length(sink.data, position) : position + size]
        packet = decode(sink.data[position], body, V5)
        if isinstance(packet, Publish):
            assert has_mark(packet, "m")
            assert not has_mark(packet, "another")
            found.append(packet)
        position += size
    assert [(one.qos, one.payload) for one in found] == [(qos, body) for qos, body, _ in messages]


def test_a_subscription_brings_each_retained_message_once() -> None:
    replays = RetainedReplays()
    assert not replays.is_due("a/b", 0.0)
    replays.subscribed("a/#", 0.0)
    assert replays.is_due("a/b", 1.0)
    assert not replays.is_due("a/b", 1.0)
    assert not replays.is_due("b", 1.0)
    replays.subscribed("#", 2.0)
    assert replays.is_due("a/b", 3.0)
    assert not replays.is_due("a/c", REPLAY_SECONDS + 2.0)


def test_claims_grow_old() -> None:
    claims = Ownership()
    claims.hear("b", encode_claims({"p", "q"}, {"p"}), 100.0)
    assert claims.reaching("q", 101.0) == ["b"]
    assert claims.is_owned("p", 101.0)
    assert not claims.is_owned("q", 101.0)
    assert claims.reaching("p", 100.0 + SILENCE_SECONDS) == []
    claims.hear("b", encode_claims(set(), set()), 101.0)
    assert claims.reaching("p", 101.0) == []


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"1", b'{"' + b"a" * 10])
def test_claims_of_a_strange_form_are_the_neighbours_error(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        Ownership().hear("b", body, 0.0)


@pytest.mark.parametrize(
    ("version", "imports", "exports", "both"),
    [
        (V5, ("#",), ("#",), ""),
        (V311, ("#",), (), ""),
        (V311, ("in/#",), ("out/#",), ""),
        (V311, ("in/#", "+/x"), ("out/#",), "out/x"),
    ],
)
def test_where_echoes_cannot_be_told(
    version: int, imports: tuple[str, ...], exports: tuple[str, ...], both: str
) -> None:
    assert echoes(BridgeSettings("p", version, imports, exports)) == both


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("protocol = '3.1.1'\nexports = ['a']", "exports and imports both have 'a'"),
        ("imports = ['a#']", "'a#' is no filter"),
        ("qos = 3", "mesh.stock"),
    ],
)
def test_a_wrong_section_says_what_is_wrong(more: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(ROOT + more)
    assert problem in str(caught.value)


def passed(sent: SentThere, payload: bytes, times: list[float]) -> int:
    return sum(not sent.is_echo(b"t", payload, now) for now in times)


def test_what_began_at_a_bridged_broker_is_not_kept_going() -> None:
    """It comes back a hundredth of a second after it was let through, and only then."""
    sent = SentThere()
    sent.has_others = True
    now = 1_000.0
    rounds = 0
    while passed(sent, b"first", [now]):
        rounds += 1
        now += 0.01
        assert rounds < 100
    now += 3.0
    for number in range(20):  # from now on it is known that these brokers are joined
        rounds = 0
        while passed(sent, b"%d" % number, [now]):
            rounds += 1
            now += 0.01
        assert rounds <= 3
        now += 1.0
    assert sent.echoes == 21


def test_what_somebody_publishes_again_and_again_passes() -> None:
    sent = SentThere()
    sent.has_others = True
    often = [1_000.0 + number / 10 for number in range(3_000)]
    assert passed(sent, b"beat", often) >= 2_979  # all but those of two seconds
    seldom = [2_000.0 + number for number in range(1_000)]
    assert passed(sent, b"alive", seldom) == 1_000
    sent = SentThere()
    assert passed(sent, b"beat", often) == 3_000  # nothing can come back to a mesh with one bridge


def test_what_is_remembered_of_imports_is_bounded() -> None:
    sent = SentThere()
    sent.has_others = True
    for number in range(30_000):
        assert not sent.is_echo(b"t", b"%d" % number, 1_000.0)
    assert len(sent._imports) == 10_000
