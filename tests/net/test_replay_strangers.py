"""The replay service among strangers: slow, hostile and many, beside more clients than 1,024."""

import random
import resource
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from gossamer.archive import replay as serving
from gossamer.archive.client import Address, Credentials, ReplayError, Request, describe
from gossamer.archive.client import read as read_rows
from gossamer.archive.replay_protocol import (
    FAILED,
    MOST_REQUEST_BYTES,
    _has_more_lists,
    frame,
)
from gossamer.net import replay_service as replay
from gossamer.net.login_slots import MOST_STRANGERS, LoginSlots, UserShares
from gossamer.net.replay_service import ReplayService
from tests.support.certificates import authority
from tests.support.live import LiveBroker
from tests.support.polling import PATIENCE, eventually
from tests.support.replays import NOBODY, address, archiving, guarded, payloads, publish

DESCRIPTORS = 1_200
LENGTH = struct.Struct(">I")


def service(broker: LiveBroker) -> ReplayService:
    opened = broker.server.archive_service
    assert opened is not None
    assert opened.replay is not None
    return opened.replay


def caller(broker: LiveBroker) -> socket.socket:
    return socket.create_connection(("127.0.0.1", address(broker).port), PATIENCE)


def answer_of(connection: socket.socket) -> bytes:
    answer = b""
    try:
        while chunk := connection.recv(4096):
            answer += chunk
    except ConnectionError:
        pass
    return answer


@contextmanager
def descriptors(count: int) -> Iterator[None]:
    """So many more are open: the next has a number beyond them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + 500
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"this system allows {hard} open files, and the test needs {wanted}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    try:
        with ExitStack() as stack:
            for _ in range(count):
                stack.enter_context(socket.socket())
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_readers_are_served_beside_more_than_1024_descriptors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    is_gone = serving._is_gone

    def looked(connection: socket.socket) -> bool:
        looks.append(connection.fileno())
        return is_gone(connection)

    monkeypatch.setattr(serving, "WAIT_SECONDS", 0.01)
    monkeypatch.setattr(serving, "_is_gone", looked)
    with descriptors(DESCRIPTORS), archiving(tmp_path) as broker:
        publish(broker, ("a", b"1"))
        found: list[bytes] = []

        def follow() -> None:
            for batch in read_rows(address(broker), NOBODY, Request(["a"], tail=True, end=3)):
                found.extend(batch.column("payload").to_pylist())

        reader = threading.Thread(target=follow)
        reader.start()
        eventually(lambda: found == [b"1"])
        eventually(lambda: len(looks) > 2)  # whether its reader is still there
        publish(broker, ("a", b"2"), ("a", b"3"))
        reader.join(PATIENCE)
        assert found == [b"1", b"2", b"3"]
        assert min(looks) > DESCRIPTORS


def test_silent_strangers_hold_no_place_of_readers(tmp_path: Path) -> None:
    with archiving(tmp_path, "replay_readers = 4") as broker, ExitStack() as stack:
        publish(broker, ("a", b"1"))
        for _ in range(3 * MOST_STRANGERS):
            stack.enter_context(caller(broker))
        for _ in range(5):
            assert payloads(broker) == [b"1"]
        # A reader has its answer a moment before its place is free.
        eventually(lambda: service(broker).places.free == 4)
        assert len(service(broker).strangers) <= MOST_STRANGERS
        cut = broker.broker.core.counters.replay_strangers_cut
        assert cut == service(broker).strangers.cut >= MOST_STRANGERS


def test_strangers_that_drip_their_request_are_cut_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "REQUEST_SECONDS", 1.0)
    with archiving(tmp_path) as broker, caller(broker) as slow:
        slow.sendall(LENGTH.pack(MOST_REQUEST_BYTES))
        gone = threading.Event()

        def drip() -> None:
            try:
                while not gone.is_set():
                    slow.sendall(b" ")
                    time.sleep(0.05)
            except OSError:
                gone.set()

        dripping = threading.Thread(target=drip, daemon=True)
        dripping.start()
        assert gone.wait(PATIENCE), "whoever sends a byte now and then keeps its place"
        eventually(lambda: len(service(broker).strangers) == 0)


def test_a_handshake_that_does_not_end_is_cut(tmp_path: Path) -> None:
    certificate, key = authority().issue(tmp_path, "server")
    ca = authority().write(tmp_path)
    rest = f'[archive.tls]\ncertificate = "{certificate}"\nkey = "{key}"'
    with archiving(tmp_path, rest=rest) as broker, ExitStack() as stack:
        strangers = [stack.enter_context(caller(broker)) for _ in range(2 * MOST_STRANGERS)]
        strangers[-1].send(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a ClientHello
        port = address(broker).port
        secure = Address("localhost", port, tls=True, ca_file=str(ca), timeout=PATIENCE)
        assert describe(secure, NOBODY)["next"] == 0
        assert answer_of(strangers[0]) == b""


def deep(character: bytes, depth: int) -> bytes:
    return LENGTH.pack(depth) + character * depth


HOSTILE = {
    "lists in lists": deep(b"[", 1_000_000),
    "objects in objects": LENGTH.pack(1_000_000) + (b'{"a":' * 200_000),
    "deep below a key": LENGTH.pack(200_005) + b'{"a":' + b"[" * 200_000,
    "a million small lists": LENGTH.pack(900_000) + b'{"a":[' + b"[]," * 299_997 + b"[]}",
    "a text without an end": LENGTH.pack(900_017) + b"[" * 16 + b'"' + b'\\"' * 450_000,
    "a text of backslashes": LENGTH.pack(900_017) + b"[" * 16 + b'"' + b"[\\" * 450_000,
    "a number of a million digits": LENGTH.pack(1_000_006) + b'{"a":' + b"9" * 1_000_000 + b"}",
    "no UTF-8": LENGTH.pack(4) + b"\xff\xfe\xfd\xfc",
    "half a character": frame({"action": "describe", "user": "\ud800"}),
    "half a character in a filter": frame({"action": "read", "filter": "\ud800"}),
    "half a password": frame({"action": "describe", "user": "a", "password": "\udfff"}),
    "infinity": LENGTH.pack(36) + b'{"action":"read","start":1e999     }',
    "a number beyond all offsets": frame({"action": "read", "start": 1 << 80}),
    "a filter beyond all topics": frame({"action": "read", "filter": "a" * 70_000}),
    "more than a frame may have": LENGTH.pack(MOST_REQUEST_BYTES + 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_first_frames_are_refused(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with archiving(tmp_path) as broker, caller(broker) as hostile:
        hostile.sendall(HOSTILE[name])
        hostile.shutdown(socket.SHUT_WR)
        assert b'"code":"bad"' in answer_of(hostile)
        assert describe(address(broker), NOBODY)["next"] == 0
        assert "failed" not in caplog.text
        assert service(broker).places.free > 0


def lists_in(text: bytes) -> int:
    """Brackets outside of texts, counted byte by byte."""
    found = at = 0
    while at < len(text):
        if text[at] == ord('"'):
            at += 1
            while at < len(text) and text[at] != ord('"'):
                at += 2 if text[at] == ord("\\") else 1
        else:
            found += text[at] in b"[{"
        at += 1
    return found


def test_lists_are_counted_as_a_parser_would() -> None:
    seed = 20_261
    chance = random.Random(seed)
    for _ in range(20_000):
        text = bytes(chance.choices(b'"\\[{a,\n', k=chance.randint(0, 25)))
        most = chance.randint(0, 4)
        assert _has_more_lists(text, most) == (lists_in(text) > most), (seed, text, most)


def test_brackets_in_texts_are_no_lists(tmp_path: Path) -> None:
    with archiving(tmp_path) as broker:
        publish(broker, ("a[[[{{{", b"1"))
        filters = ["a[[[{{{", *(f'[{{"{number}' for number in range(20))]
        assert payloads(broker, filters=filters) == [b"1"]


def test_a_reader_that_takes_nothing_loses_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "SEND_SECONDS", 0.5)
    with archiving(tmp_path) as broker, caller(broker) as slow:
        publish(broker, *[("a", bytes(1_000_000))] * 20)
        before = service(broker).places.free
        slow.sendall(frame({"action": "read"}))
        assert slow.recv(1)
        eventually(lambda: service(broker).places.free == before)


def test_a_long_answer_that_is_not_taken_holds_a_place_until_it_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = {"ok": True, "segments": ["x" * 64_000_000]}
    monkeypatch.setattr(serving.ReplayAnswer, "describe", lambda answering, asked: long)
    monkeypatch.setattr(replay, "SEND_SECONDS", 1.0)
    with archiving(tmp_path) as broker, caller(broker) as slow:
        before = service(broker).places.free
        slow.sendall(frame({"action": "describe"}))
        assert slow.recv(1)
        assert service(broker).places.free == before - 1
        eventually(lambda: service(broker).places.free == before)


def test_a_user_leaves_a_quarter_of_the_places_to_others(tmp_path: Path) -> None:
    with guarded(tmp_path) as broker:
        publish(broker, ("a/1", b"1"), username="bob", password=b"bob")
        service(broker).places = UserShares(4)
        streams = []
        ann, bob = Credentials("ann", "ann"), Credentials("bob", "bob")
        for _ in range(3):
            stream = read_rows(address(broker), ann, Request(["a/1"], tail=True))
            assert next(stream).num_rows == 1
            streams.append(stream)
        with pytest.raises(ReplayError, match="too many readers") as caught:
            describe(address(broker), ann)
        assert caught.value.code == FAILED
        assert describe(address(broker), bob)["next"] == 1
        for stream in streams:
            stream.close()  # type: ignore[attr-defined]


# The places themselves ---------------------------------------------------------------------------


def test_the_address_that_holds_most_loses_its_oldest() -> None:
    places, cut = LoginSlots(1.0, most=4), []

    def enter(address: str, now: float, name: str) -> bool:
        return places.enter(address, now, lambda: cut.append(name)) is not None

    assert enter("10.0.0.1", 0.0, "honest")
    assert all(enter("10.0.0.9", 0.0, f"slow-{number}") for number in range(3))
    assert not enter("10.0.0.2", 0.5, "early")
    assert enter("10.0.0.2", 1.0, "other")
    assert enter("10.0.0.9", 1.1, "slow-3")
    assert cut == ["slow-0", "slow-1"]
    assert places.cut == 2
    assert len(places) == 4


def test_who_has_been_heard_is_not_cut() -> None:
    places, cut = LoginSlots(0.0, most=1), []
    first = places.enter("10.0.0.1", 0.0, lambda: cut.append("first"))
    assert first is not None
    assert places.heard(first)
    assert places.enter("10.0.0.2", 9.0, lambda: None) is None
    places.leave(first)
    second = places.enter("10.0.0.2", 9.0, lambda: cut.append("second"))
    assert second is not None
    places.leave(first)  # again: nobody else's place is given away
    assert len(places) == 1
    assert places.enter("10.0.0.3", 9.0, lambda: None) is not None
    assert not places.heard(second)
    assert cut == ["second"]


def test_one_host_of_ipv6_has_many_addresses_and_one_share() -> None:
    places, cut = LoginSlots(0.0, most=3), []
    places.enter("10.0.0.1", 0.0, lambda: cut.append("honest"))
    for number in range(5):
        places.enter(f"2001:db8:1:2:{number}::1", 1.0, lambda: cut.append("slow"))
    assert set(cut) == {"slow"}


def test_shares_are_given_back() -> None:
    shares = UserShares(2)
    assert shares.take("a")
    assert shares.take("a")
    assert not shares.take("b")
    shares.give_back("a")
    assert shares.take("b")
    shares.give_back("a")
    shares.give_back("b")
    assert shares.free == 2


def test_tls_records_that_are_no_handshake_are_no_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    certificate, key = authority().issue(tmp_path, "server")
    rest = f'[archive.tls]\ncertificate = "{certificate}"\nkey = "{key}"'
    with archiving(tmp_path, rest=rest) as broker:
        for words in (b"GET / HTTP/1.1\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x28", b""):
            with caller(broker) as plain:
                plain.sendall(words)
                with suppress(OSError):  # it may have been cut off already
                    plain.shutdown(socket.SHUT_WR)
                answer_of(plain)
        context = ssl.create_default_context()
        with caller(broker) as untrusting, pytest.raises(ssl.SSLError):
            context.wrap_socket(untrusting, server_hostname="localhost")
        eventually(lambda: len(service(broker).strangers) == 0)
    assert "failed" not in caplog.text
