"""What a neighbour says in JSON, with every field made hostile: its error, and nobody else's.

A field is replaced by each of the hostile values. Whatever reads it takes it for what it is or
raises ProtocolError; through a link, that ends this link, once, and leaves nothing half done.
"""

import json
from collections.abc import Callable, Iterator

import pytest

from gossamer.mesh.bridges.bridges import BRIDGE_WORD, decode_claims
from gossamer.mesh.control_messages import (
    EPOCH,
    FLOOD,
    HOLD,
    MEASURES,
    RETAINED,
    control_packet,
)
from gossamer.mesh.directed.message import DirectedMessage, packed, unpacked
from gossamer.mesh.gossip.item import GossipItem, encode_item
from gossamer.mesh.interest.branch_sums import decode as decode_sums
from gossamer.mesh.json_fields import read_json
from gossamer.mesh.overview import FIGURES
from gossamer.mesh.roaming.register import CONNECTED
from gossamer.mesh.roaming.register import _read as read_claim
from gossamer.mesh.roaming.transfer import TransferHead, delivery_of
from gossamer.session.message import Message
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import Publish
from tests.support.directed_messages import a_directed
from tests.support.meshes import Net, Wire

# As they stand in JSON.
HOSTILE = [
    "1e999",
    "-1e999",
    "NaN",
    "Infinity",
    "-1",
    "1.5",
    "true",
    "null",
    "[]",
    "[[]]",
    "{}",
    '""',
    '"\\ud800"',
    '"a\\u0000b"',
    '"+/#"',
    '"' + "x" * 65_536 + '"',
    "1" + "0" * 30,
    "1" + "0" * 5_000,
    str(1 << 64),
    "[" * 100_000,
    '[["a"]]',
    '["a", "b", "c"]',
]
_HOLE = '"HOLE"'

SUBSCRIPTION = ["s/#", 1, False, False, 0, 0, [["name", "value"]]]
HEAD = {
    "user": "u",
    "expiry": 1000,
    "is_311": False,
    "number": 7,
    "incoming": [1, 2],
    "seen": "00" * 16,
    "subscriptions": [SUBSCRIPTION],
    "position": [48.0, 11.0, 1000.0],
}
ITEM = {
    "client": "c",
    "source": "evil",
    "number": 1,
    "granted": 1,
    "kept": False,
    "identifiers": [1],
    "packet": 0,
    "state": 0,
    "share": "",
    "name": "",
    "publisher": "p",
    "by": "u",
    "empty": False,
}
FRAME = {"to": "b", "kind": "item", "topic": "s/1", "qos": 1, "retain": False}
CLAIM = {"client": "c", "owner": "b", "user": "u", "at": 1, "cleared": 0, "prior": ""}
SUMS = [3, 1, {"branch": [1, 10.0, 2.5]}]


def variants(value: object) -> Iterator[object]:
    """With one of its parts replaced by a hole, or missing."""
    yield "HOLE"
    if isinstance(value, dict):
        for key, inner in value.items():
            for variant in variants(inner):
                yield {**value, key: variant}
            yield {name: each for name, each in value.items() if name != key}
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            for variant in variants(inner):
                yield [*value[:at], variant, *value[at + 1 :]]
            yield value[:at]


def hostile(document: object) -> Iterator[str]:
    for variant in variants(document):
        holed = json.dumps(variant)
        if _HOLE not in holed:
            yield holed
        for value in HOSTILE if _HOLE in holed else ():
            yield holed.replace(_HOLE, value, 1)


def read_item(said: str) -> object:
    return delivery_of(unpacked(a_directed(said)))


def read_head(said: str) -> object:
    carried = Message("", said.encode(), 0, False, None, 0.0, "", "")
    return TransferHead(
        DirectedMessage("head", "b", {"client": "c", "source": "a", "since": 1}, carried)
    )


READERS: dict[str, tuple[object, Callable[[str], object]]] = {
    "errand": ({**FRAME, **ITEM}, read_item),
    "head": (HEAD, read_head),
    "measures": (SUMS, lambda said: decode_sums(said.encode())),
    "stock": ({"x": 3}, lambda said: decode_claims(said.encode(), 0.0)),
    "claim": (CLAIM, lambda said: read_claim(said.encode())),
}


@pytest.mark.parametrize("place", READERS)
def test_a_reader_takes_it_or_names_the_error(place: str) -> None:
    document, read = READERS[place]
    read(json.dumps(document))
    refused = 0
    tried = 0
    for said in hostile(document):
        tried += 1
        error = error_of(read, said)
        if error is not None:
            refused += 1
            assert error.reason == reasons.MALFORMED_PACKET
            assert len(error.text) < 300
    assert refused > tried / 2


def error_of(read: Callable[[str], object], said: str) -> ProtocolError | None:
    try:
        found = read(said)
    except ProtocolError as error:
        return error
    is_ignored = found is None
    return ProtocolError(reasons.MALFORMED_PACKET, "ignored") if is_ignored else None


@pytest.mark.parametrize("text", ["1e999", "-1e999", "[1e999]", "NaN", "[" * 100_000, "", "\ud800"])
def test_json_that_means_no_number_is_none(text: str) -> None:
    with pytest.raises(ProtocolError):
        read_json(text, "a word")


# Through a link ----------------------------------------------------------------------------------


@pytest.fixture
def line() -> Net:
    """evil - b - c."""
    net = Net("auto")
    for name in ("evil", "b", "c"):
        net.node(name)
    net.join("evil", "b")
    net.join("c", "b")
    return net


def is_linked(net: Net, name: str) -> bool:
    return net.nodes["b"].mesh.by_name[name].connection is not None


def word(net: Net, kind: int, body: bytes) -> bytes:
    life = net.nodes["evil"].mesh.gossip.life + 1
    return control_packet(FLOOD, encode_item(GossipItem("evil", life, 1, kind, False, body)))


CONTROL = [
    (MEASURES, b"[1e999, 0, {}]"),
    (MEASURES, b'[1, 1, {"x": []}]'),
    (MEASURES, b"[]"),
    (MEASURES, b'[1, 1, {"x": [1' + b"0" * 400 + b", 1, 1]}]"),
    (MEASURES, b"[" * 100_000),
    (EPOCH, b""),
    (EPOCH, b"0123:456789abcdef"),
    (EPOCH, b"\xff" * 16),
    (0x77, b"+b"),  # of a kind that is no more
    (RETAINED, b"short"),
    (HOLD, b"x"),
]
WORDS = [
    (CONNECTED, b'{"client": "c", "user": "u", "at": 1e999}'),
    (CONNECTED, b'{"client": [], "user": "u", "at": 1}'),
    (CONNECTED, b'{"client": "\\ud800", "user": "u", "at": 1}'),
    (CONNECTED, b"[]"),
    (FIGURES, b'{"interval": 1e999, "figures": {}}'),
    (FIGURES, b'{"interval": 1, "figures": []}'),
    (FIGURES, b"[]"),
]


def check_contained(net: Net) -> None:
    """One link ended, for one error that is counted; and it stands when it is made again."""
    core = net.nodes["b"].broker.core
    assert not is_linked(net, "evil")
    assert core.counters.protocol_errors == 1
    assert is_linked(net, "c")
    assert [name for name in core.sessions if not name.startswith("$mesh/")] == []
    del net.links["evil", "b"]
    net.join("evil", "b")
    assert is_linked(net, "evil")
    assert core.counters.protocol_errors == 1
    reader = net.nodes["c"].client("reader")
    reader.subscribe("t", qos=1)
    net.run()
    net.nodes["evil"].client("writer").publish("t", "still", qos=1)
    net.run()
    assert [message.payload for message in reader.messages()] == [b"still"]


@pytest.mark.parametrize(("kind", "body"), CONTROL)
def test_a_control_message_that_is_none_ends_its_link(line: Net, kind: int, body: bytes) -> None:
    line.nodes["evil"].mesh.by_name["b"].send([control_packet(kind, body)])
    line.run()
    check_contained(line)


@pytest.mark.parametrize(("kind", "body"), WORDS)
def test_a_word_that_is_none_ends_its_link_and_goes_no_further(
    line: Net, kind: int, body: bytes
) -> None:
    line.nodes["evil"].mesh.by_name["b"].send([word(line, kind, body)])
    line.run()
    assert line.nodes["c"].broker.core.counters.protocol_errors == 0
    check_contained(line)


def directed_messages() -> Iterator[Message]:
    head = json.dumps({**FRAME, **ITEM, "kind": "head", "topic": "", "since": 1})
    for said in ('{"expiry": 1e999}', json.dumps({**HEAD, "subscriptions": [["a"]]}), "[]"):
        yield a_directed(head, said.encode())
    pairless = [*SUBSCRIPTION[:-1], [[]]]
    yield a_directed(head, json.dumps({**HEAD, "subscriptions": [pairless]}).encode())
    for field, value in (("number", 1 << 70), ("state", 9), ("granted", True), ("name", "zz")):
        yield a_directed(json.dumps({**FRAME, **ITEM, field: value}))
    yield a_directed(json.dumps({**FRAME, "kind": "share", "group": [], "visited": []}))
    yield a_directed(json.dumps({**FRAME, "kind": "share", "group": "g", "visited": [[]]}))
    yield a_directed(json.dumps({**FRAME, "kind": "none of ours"}))
    yield a_directed(json.dumps({**FRAME, **ITEM, "topic": "a/#"}))
    yield Message("$gossamer/errand", b"", 1, False, None, 0.0, "", "")
    whole = packed(
        DirectedMessage("nothing", "b", {"client": "é" * 40_000}, Message(*_EMPTY)), 1
    ).payload
    for payload in (b"", b"\x01", b"\x02" + whole[1:], whole[:-1], whole[:100], b"\x01" * 100):
        yield Message("$gossamer/envelope", payload, 1, False, None, 0.0, "", "")


_EMPTY = ("", b"", 0, False, None, 0.0, "", "")


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("message", list(directed_messages()))
def test_a_directed_that_is_none_is_refused_for_good(line: Net, message: Message, qos: int) -> None:
    """The link stands, and it is not sent again when that is made anew."""
    link = line.nodes["evil"].mesh.by_name["b"]
    connection = link.connection
    link.session.enqueue(message, qos, False, [], "", line.nodes["evil"].now)
    line.run()
    assert link.connection is connection
    assert line.nodes["evil"].mesh.router.set_aside == 1
    assert line.nodes["b"].mesh.router.refusals == 1
    line.cut("evil", "b")
    line.links["evil", "b"] = (Wire(line.queue), Wire(line.queue))
    check_contained(line)


def test_what_is_whole_arrives(line: Net) -> None:
    """The same roads, without an error."""
    evil = line.nodes["evil"]
    head = json.dumps({**FRAME, **ITEM, "kind": "head", "topic": "", "since": 1})
    link = evil.mesh.by_name["b"]
    for message in (
        a_directed(head, json.dumps(HEAD).encode()),
        a_directed(json.dumps(FRAME | ITEM)),
    ):
        link.session.enqueue(message, 2, False, [], "", evil.now)
    end = {**FRAME, "kind": "end", "topic": "", "client": "c", "source": "evil"}
    link.session.enqueue(a_directed(json.dumps(end)), 2, False, [], "", evil.now)
    link.send(
        [
            word(line, BRIDGE_WORD, b'{"x": 3}'),
            word(line, FIGURES, b'{"interval": 1, "figures": {}}'),
        ]
    )
    line.run()
    assert is_linked(line, "evil")
    reader = line.nodes["b"].client("c", clean=False, expiry=1000, user="u")
    line.run()
    found = [packet for packet in reader.take() if isinstance(packet, Publish)]
    assert [packet.topic for packet in found] == ["s/1"]
