"""Bad input, listed: one test a case, each with what the outside world sees.

`docs/security.md` gives the reason for each; a test here holds the two lists together.
"""

import logging
import re
import ssl
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from gossamer.net.auth.passwords import HASHER
from gossamer.storage.sqlite_store import SqliteStore
from gossamer.wire import reasons
from gossamer.wire.codec import encode
from gossamer.wire.packets import (
    PUBREC,
    V5,
    V311,
    Acknowledgement,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Pingreq,
    Pingresp,
    Publish,
    Request,
    Suback,
    Subscribe,
    Will,
)
from gossamer.wire.properties import Properties
from tests.support.certificates import authority, client_context
from tests.support.live import LiveBroker, RawClient, live, live_file
from tests.support.memory import World
from tests.support.polling import eventually
from tests.support.websocket_frames import REQUEST, frame

MIB_256_NO_BYTES = b"\x30\xff\xff\xff\x7f"


@pytest.fixture(scope="module")
def broker() -> Iterator[LiveBroker]:
    with live() as broker:
        yield broker


@pytest.fixture
def witness(broker: LiveBroker) -> Iterator[RawClient]:
    """Another client, which must not notice anything."""
    client = RawClient.to(broker.port())
    client.login(client_id="witness")
    client.subscribe("#")
    yield client
    client.send(Pingreq())
    client.expect(Pingresp)
    client.close()


def visitor(broker: LiveBroker, version: int = V5) -> RawClient:
    return RawClient.to(broker.port(), version)


def member(broker: LiveBroker, version: int = V5, client_id: str = "guest") -> RawClient:
    client = visitor(broker, version)
    assert client.login(client_id=client_id).reason == reasons.SUCCESS
    return client


def ended_with(client: RawClient, reason: int) -> bool:
    """A DISCONNECT with the reason, and then the end."""
    packet = client.read()
    assert isinstance(packet, Disconnect), packet
    assert packet.reason == reason
    return client.read() is None


@pytest.mark.parametrize(
    "first", [Pingreq(), Publish("t", b"x"), Subscribe(1, [Request("#")]), Disconnect()]
)
@pytest.mark.usefixtures("witness")
def test_first_packet_not_connect(broker: LiveBroker, first: Packet) -> None:
    client = visitor(broker, V311)
    client.send(first if not isinstance(first, Disconnect) else b"\xe0\x00")
    assert client.read() is None


@pytest.mark.usefixtures("witness")
def test_256_mib_announced_and_no_bytes(broker: LiveBroker) -> None:
    stranger = visitor(broker, V311)
    stranger.send(b"\x10\xff\xff\xff\x7f")
    assert stranger.read() is None
    client = member(broker)
    client.send(MIB_256_NO_BYTES)
    assert ended_with(client, reasons.PACKET_TOO_LARGE)


@pytest.mark.usefixtures("witness")
def test_5_byte_varint(broker: LiveBroker) -> None:
    client = member(broker)
    client.send(b"\x30\xff\xff\xff\xff\x01")
    assert ended_with(client, reasons.MALFORMED_PACKET)


@pytest.mark.parametrize(
    "body", [b"\x00\x01t", b"\x00\x01t\x00", b"\x00\x05t\x00\x01\x00", b"\x00"]
)
def test_truncated_qos_publish(broker: LiveBroker, witness: RawClient, body: bytes) -> None:
    client = member(broker)
    client.send(bytes((0x32, len(body))) + body)
    assert ended_with(client, reasons.MALFORMED_PACKET)


def test_packet_longer_than_its_websocket_frame() -> None:
    text = '[[listener]]\nkind = "ws"\nport = 0\norigins = ["https://page.example"]'
    with live(text) as broker:
        client = RawClient.to(broker.port())
        client.send(REQUEST.encode())
        packet = encode(Connect("c"), V5)
        client.send(frame(2, packet[:7]))
        client.send(frame(2, packet[7:] + encode(Pingreq(), V5)[:1]))
        client.send(frame(2, encode(Pingreq(), V5)[1:]))
        answer = b""
        while b"\xd0\x00" not in answer:
            chunk = client.socket.recv(4096)
            assert chunk
            answer += chunk
        assert answer.startswith(b"HTTP/1.1 101 ")
        assert b"\x20" in answer


@pytest.mark.usefixtures("witness")
def test_20_000_user_properties(broker: LiveBroker) -> None:
    many = Properties()
    many.user = [("k", "v")] * 20_000
    client = member(broker)
    client.send(Publish("t", b"", properties=many))
    packet = client.read()
    assert isinstance(packet, Disconnect)
    assert packet.reason >= reasons.UNSPECIFIED_ERROR
    assert client.read() is None
    stranger = visitor(broker)
    few_bytes_allowed = Properties()
    few_bytes_allowed.user = [("", "")] * 13_000
    stranger.send(Connect("c", properties=few_bytes_allowed))
    refused = stranger.read()
    assert isinstance(refused, Connack)
    assert refused.reason >= reasons.UNSPECIFIED_ERROR


@pytest.mark.parametrize(
    "properties",
    [
        b"\x05\x11\x00\x00\x00\x01",  # session expiry, which a will does not have
        b"\x0a\x18\x00\x00\x00\x01\x18\x00\x00\x00\x02",  # will delay, twice
        b"\x02\x01\x02",  # payload format 2
        b"\x03\x08\x00\x05",  # a response topic that ends early
    ],
)
@pytest.mark.usefixtures("witness")
def test_invalid_will_properties(broker: LiveBroker, properties: bytes) -> None:
    body = b"\x00\x04MQTT\x05\x06\x00\x00\x00" + b"\x00\x01c" + properties + b"\x00\x01w\x00\x01x"
    client = visitor(broker)
    client.send(bytes((0x10, len(body))) + body)
    packet = client.read()
    assert isinstance(packet, Connack)
    assert packet.reason in (reasons.MALFORMED_PACKET, reasons.PROTOCOL_ERROR)
    assert client.read() is None


@pytest.mark.usefixtures("witness")
def test_client_sent_connack(broker: LiveBroker) -> None:
    client = member(broker)
    client.send(Connack(False, 0))
    assert ended_with(client, reasons.PROTOCOL_ERROR)


def test_qos_2_packet_ids_never_released(broker: LiveBroker, witness: RawClient) -> None:
    client = member(broker)
    for _ in range(3):  # the same one: answered each time, delivered once
        client.publish("once", b"x", qos=2, packet_id=7)
        answer = client.expect(Acknowledgement)
        assert (answer.kind, answer.packet_id) == (PUBREC, 7)
    assert witness.expect(Publish).topic == "once"
    with live("[[listener]]\nport = 0\n[limits]\nreceive_maximum = 3") as small:
        greedy = member(small)
        for packet_id in range(1, 5):
            greedy.publish("t", b"x", qos=2, packet_id=packet_id)
        answers = [greedy.read() for _ in range(4)]
        assert [type(answer) for answer in answers[:3]] == [Acknowledgement] * 3
        assert isinstance(answers[3], Disconnect)
        assert answers[3].reason == reasons.RECEIVE_MAXIMUM_EXCEEDED


def test_will_delay_beyond_session_expiry() -> None:
    world = World()
    reader = world.client("reader")
    reader.subscribe("w")
    later = Properties()
    later.will_delay = 1_000_000
    leaver = world.client("leaver", expiry=10, will=Will("w", b"gone", properties=later))
    leaver.lose()
    world.wait(9)
    assert reader.payloads() == []
    world.wait(2)
    assert reader.payloads() == ["gone"]
    world.wait(2_000_000)
    assert reader.payloads() == []


@pytest.mark.usefixtures("witness")
def test_topic_of_65_535_slashes(broker: LiveBroker) -> None:
    topic = "/" * 65_535
    client = member(broker)
    assert client.subscribe(topic) == [reasons.TOPIC_FILTER_INVALID]
    client.publish(topic)
    assert ended_with(client, reasons.TOPIC_NAME_INVALID)


def test_a_filter_built_to_blow_up_matching(broker: LiveBroker) -> None:
    client = member(broker)
    # Every way to write `+` into ten levels: a topic of ten times `a` matches all of them.
    filters = ["/".join(levels) for levels in product("a+", repeat=10)]
    client.send(Subscribe(1, [Request(filter) for filter in filters]))
    assert set(client.expect(Suback).reasons) == {0}
    client.publish("/".join("a" * 10))
    client.publish("/".join("a" * 9))
    assert client.expect(Publish).topic == "/".join("a" * 10)
    client.send(Pingreq())
    client.expect(Pingresp)
    assert client.subscribe("+/" * 200 + "#") == [reasons.TOPIC_FILTER_INVALID]


@pytest.mark.usefixtures("witness")
def test_duplicate_connect(broker: LiveBroker) -> None:
    client = member(broker)
    client.send(Connect("another"))
    assert ended_with(client, reasons.PROTOCOL_ERROR)


def test_keep_alive_0_and_65_535() -> None:
    world = World()
    silent = world.client("silent", keep_alive=0)
    patient = world.client("patient", keep_alive=65_535)
    world.wait(98_302)
    assert not silent.is_closed
    assert not patient.is_closed
    world.wait(1)
    assert patient.is_closed
    assert not silent.is_closed
    strict = World(max_keep_alive=60)
    client = strict.client("c", keep_alive=0)
    assert client.connack.properties is not None
    assert client.connack.properties.server_keep_alive == 60
    strict.wait(91)
    assert client.is_closed


def test_a_subscriber_that_never_reads() -> None:
    with live('[[listener]]\nport = 0\n[limits]\noutbox_bytes = "64 KiB"') as broker:
        lazy = member(broker, client_id="lazy")
        lazy.subscribe("t")
        writer = member(broker, client_id="writer")

        def is_dropping() -> bool:
            for _ in range(20):
                writer.publish("t", b"x" * 100_000)
            writer.send(Pingreq())
            writer.expect(Pingresp)
            return broker.ask(lambda: broker.broker.core.counters.dropped_slow) > 100

        eventually(is_dropping)

        def unsent() -> int:
            outbox = broker.broker.core.sessions["lazy"].outbox
            assert outbox is not None
            transport = outbox.sink.transport  # type: ignore[attr-defined]
            return int(transport.get_write_buffer_size()) + outbox.size

        assert broker.ask(unsent) < 1 << 20
        lazy.close()


def with_users(folder: Path, **users: str) -> str:
    lines = [f"{user}:{HASHER.hash(word)}" for user, word in users.items()]
    (folder / "passwords").write_text("\n".join(["", *lines, "  ", ""]))
    return f'[[listener]]\nport = 0\n[auth]\npassword_file = "{folder}/passwords"\n'


def test_a_rejected_login_with_a_will(tmp_path: Path) -> None:
    with live(with_users(tmp_path, ann="a", eve="e")) as broker:
        reader = RawClient.to(broker.port())
        reader.login(client_id="reader", username="ann", password=b"a")
        reader.subscribe("#")
        thief = RawClient.to(broker.port())
        will = Will("w", b"I was here")
        answer = thief.login(client_id="thief", username="eve", password=b"guess", will=will)
        assert answer.reason == reasons.BAD_USER_NAME_OR_PASSWORD
        assert thief.read() is None
        reader.publish("last")
        assert reader.expect(Publish).topic == "last"


def test_takeover_by_another_user(tmp_path: Path) -> None:
    with live(with_users(tmp_path, ann="a", eve="e")) as broker:
        ann = RawClient.to(broker.port())
        ann.login(client_id="meter", username="ann", password=b"a")
        eve = RawClient.to(broker.port())
        answer = eve.login(client_id="meter", username="eve", password=b"e")
        assert answer.reason == reasons.NOT_AUTHORIZED
        assert eve.read() is None
        ann.send(Pingreq())
        ann.expect(Pingresp)


def write_rules(folder: Path, text: str) -> None:
    (folder / "rules.toml").write_text(text)


def test_retained_message_of_a_publisher_whose_right_was_revoked(tmp_path: Path) -> None:
    file = tmp_path / "broker.toml"
    text = with_users(tmp_path, ann="a", bob="b") + '[permissions]\nfile = "rules.toml"\n'
    file.write_text(text)
    reads = "[[rule]]\nsubscribe = ['news/#']\n"
    write_rules(tmp_path, reads + "[[rule]]\nusers = ['ann']\npublish = ['news/#']")
    with live_file(file) as broker:
        ann = RawClient.to(broker.port())
        ann.login(client_id="ann", username="ann", password=b"a")
        ann.publish("news/1", b"old", qos=1, packet_id=1, retain=True)
        ann.expect(Acknowledgement)
        bob = RawClient.to(broker.port())
        bob.login(client_id="bob", username="bob", password=b"b")
        bob.subscribe("news/1")
        assert bob.expect(Publish).payload == b"old"
        write_rules(tmp_path, reads)
        broker.reload()
        bob.subscribe("news/1")
        bob.send(Pingreq())
        bob.expect(Pingresp)


@pytest.mark.parametrize("name", ["+", "#", "a/b", "ann/+"])
def test_acl_with_a_wildcard_in_a_user_name(tmp_path: Path, name: str) -> None:
    write_rules(tmp_path, "[[rule]]\npublish = ['u/%u/#']\nsubscribe = ['u/%u/#', 'c/%c/#']")
    text = with_users(tmp_path, ann="a") + f'[permissions]\nfile = "{tmp_path}/rules.toml"\n'
    with (tmp_path / "passwords").open("a") as file:
        file.write(f"{name}:{HASHER.hash('x')}\n")
    with live(text) as broker:
        client = RawClient.to(broker.port())
        assert client.login(client_id=name, username=name, password=b"x").reason == 0
        wide = ["u/#", "u/+/#", "u/ann/#", f"u/{name}", "c/#", "c/+/#", "#"]
        valid = [filter for filter in wide if "#" not in filter[:-1]]
        assert set(client.subscribe(*valid)) == {reasons.NOT_AUTHORIZED}


def test_blank_line_in_the_password_file(tmp_path: Path) -> None:
    with live(with_users(tmp_path, ann="a")) as broker:
        for user, password in [("", b""), ("", None), (" ", b" "), (None, b"")]:
            client = RawClient.to(broker.port())
            answer = client.login(client_id="c", username=user, password=password)
            assert answer.reason >= reasons.UNSPECIFIED_ERROR
        ann = RawClient.to(broker.port())
        assert ann.login(client_id="c", username="ann", password=b"a").reason == 0


def test_mutual_tls_over_websocket_without_a_certificate(tmp_path: Path) -> None:
    ca = authority().write(tmp_path)
    certificate, key = authority().issue(tmp_path, "server")
    text = f"""
[[listener]]
kind = "wss"
port = 0
[listener.tls]
certificate = "{certificate}"
key = "{key}"
client_ca = "{ca}"
client_certificate = "required"
"""
    with live(text) as broker:
        try:
            client = RawClient.to(broker.port(), context=client_context(ca))
            client.send(REQUEST.encode())
            assert client.socket.recv(100) == b""
        except (ssl.SSLError, ConnectionError):
            pass
        assert broker.ask(lambda: broker.broker.core.last_token) == 0


def test_world_readable_database(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "data"
    SqliteStore(folder, "full").close()
    file = next(folder.glob("*.db"))
    file.chmod(0o644)
    logging.getLogger("gossamer").propagate = True
    with caplog.at_level(logging.WARNING):
        SqliteStore(folder, "full").close()
    assert file.stat().st_mode & 0o777 == 0o600
    assert any("readable by other users" in record.getMessage() for record in caplog.records)


def test_the_documentation_lists_exactly_these_cases() -> None:
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    table = page.partition("\n## Bad input, listed\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(test_\w+)`", table))
    here = {name for name in vars(sys.modules[__name__]) if name.startswith("test_")}
    assert named == here - {"test_the_documentation_lists_exactly_these_cases"}
