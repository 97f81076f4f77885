"""The replay service on real sockets: what is asked for, who may ask, and every way it ends."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gossamer.archive import replay as serving
from gossamer.archive.client import (
    Address,
    Credentials,
    OffsetsLost,
    ReplayError,
    Request,
    Unreachable,
    describe,
    locate,
    read,
)
from gossamer.archive.folder import ArchiveError
from gossamer.archive.replay_protocol import BAD, DENIED, FAILED, REFUSED, frame, read_frame
from gossamer.archive.segment_lifecycle import Upkeep
from gossamer.archive.selection import Selection
from gossamer.net.auth.passwords import HASHER, write_entries
from gossamer.net.rule_file import RulePermissions
from gossamer.wire.packets import Acknowledgement, Publish
from gossamer.wire.properties import Properties
from tests.support.archives import rows_of, seal_here
from tests.support.certificates import authority
from tests.support.live import RawClient
from tests.support.polling import PATIENCE, eventually
from tests.support.replays import (
    NOBODY,
    address,
    archiving,
    forget,
    guarded,
    payloads,
    publish,
)


def test_what_was_acknowledged_can_be_read(tmp_path: Path) -> None:
    with archiving(tmp_path) as broker:
        publish(broker, ("a/1", b"1"), ("a/2", b"2"), ("b", b"3"))
        assert payloads(broker) == [b"1", b"2", b"3"]
        assert payloads(broker, filters=["a/+"]) == [b"1", b"2"]
        assert payloads(broker, filters=["b", "a/2"], start=1) == [b"2", b"3"]
        assert payloads(broker, start=1, end=2) == [b"2"]
        assert payloads(broker, max_rows=2) == [b"1", b"2"]
        assert payloads(broker, max_rows=0) == payloads(broker, start=3) == []
        told = describe(address(broker), NOBODY)
        assert (told["broker"], told["earliest"], told["next"]) == ("broker", 0, 3)
        (segment,) = told["segments"]
        assert (segment["first"], segment["last"], segment["sealed"]) == (0, 2, False)
        assert locate(address(broker), NOBODY, 0) == 0
        assert locate(address(broker), NOBODY, segment["max_time"] + 1) == 3
        assert payloads(broker, start_time=segment["max_time"] + 1) == []
        (batch,) = read(address(broker), NOBODY, Request(columns=["topic", "offset"]))
        assert batch.schema.names == ["offset", "topic"]


def test_sealing_changes_nothing_for_a_reader(tmp_path: Path) -> None:
    with archiving(tmp_path) as broker:
        publish(broker, *[(f"t/{number % 3}", b"%d" % number) for number in range(100)])
        before = rows_of(list(read(address(broker), NOBODY, Request())))
        archive = broker.server.archive
        assert archive is not None
        archive.roll(is_forced=True)
        eventually(lambda: describe(address(broker), NOBODY)["segments"][0]["sealed"])
        assert rows_of(list(read(address(broker), NOBODY, Request()))) == before
        publish(broker, ("t/1", b"later"))
        assert payloads(broker, filters=["t/1"], start=97) == [b"97", b"later"]


def test_every_way_of_publishing_is_archived(tmp_path: Path) -> None:
    with archiving(tmp_path, 'filters = ["a/#"]') as broker:
        client = RawClient.to(broker.port())
        client.login(client_id="c")
        client.publish("a/0", b"qos 0")
        client.publish("a/0", b"qos 0")
        client.publish("a/1", b"qos 1", qos=1, packet_id=1)
        client.publish("a/2", b"qos 2", qos=2, packet_id=2)
        client.publish("a/2", b"qos 2", qos=2, packet_id=2, dup=True)
        client.publish("a/r", b"retained", qos=1, packet_id=3, retain=True)
        client.publish("other", b"not asked for", qos=1, packet_id=4)
        properties = Properties()
        properties.content_type = "x"
        client.publish("a/p", b"properties", qos=1, packet_id=5, properties=properties)
        for _ in range(6):
            client.expect(Acknowledgement)
        eventually(lambda: len(payloads(broker)) == 6)
        rows = rows_of(list(read(address(broker), NOBODY, Request())))
        assert [(row["payload"], row["qos"], row["retain"]) for row in rows] == [
            (b"qos 0", 0, False),
            (b"qos 0", 0, False),
            (b"qos 1", 1, False),
            (b"qos 2", 2, False),
            (b"retained", 1, True),
            (b"properties", 1, False),
        ]
        assert rows[-1]["content_type"] == "x"
        assert {row["publisher"] for row in rows} == {"c"}


def test_a_will_is_archived_and_the_broker_itself_is_not(tmp_path: Path) -> None:
    from gossamer.wire.packets import Will

    with archiving(tmp_path, 'filters = ["#", "$SYS/#"]', "[sys]\ninterval = 0.05") as broker:
        client = RawClient.to(broker.port())
        client.login(client_id="c", will=Will("gone", b"c", 1))
        client.close()
        eventually(lambda: len(payloads(broker)) == 1)
        publish(broker, ("x", b"1"))
        rows = rows_of(list(read(address(broker), NOBODY, Request(["#", "$SYS/#"]))))
        assert [row["topic"] for row in rows] == ["gone", "x"]


def test_a_tail_waits_for_what_is_not_there_yet(tmp_path: Path) -> None:
    with archiving(tmp_path) as broker:
        publish(broker, ("a", b"1"))
        found: list[bytes] = []

        def follow() -> None:
            request = Request(["a"], tail=True, end=4)
            for batch in read(address(broker), NOBODY, request):
                found.extend(row["payload"] for row in rows_of([batch]))

        reader = threading.Thread(target=follow)
        reader.start()
        eventually(lambda: found == [b"1"])
        publish(broker, ("a", b"2"), ("b", b"3"))
        eventually(lambda: found == [b"1", b"2"])
        publish(broker, ("a", b"4"))
        reader.join(PATIENCE)
        assert found == [b"1", b"2", b"4"]


def test_a_reader_that_waits_hears_that_the_broker_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(serving, "WAIT_SECONDS", 0.01)
    with (
        archiving(tmp_path) as broker,
        socket.create_connection(("127.0.0.1", address(broker).port), PATIENCE) as connection,
    ):
        connection.sendall(frame({"action": "read", "filter": "#", "tail": True}))
        with connection.makefile("rb") as file:
            assert read_frame(file.read, 100)["ok"]
            with pa.ipc.open_stream(pa.PythonFile(file, "r")) as stream:
                assert next(stream).num_rows == 0
                assert next(stream).num_rows == 0


def test_readers_that_leave_give_up_their_places(tmp_path: Path) -> None:
    with archiving(tmp_path, "replay_readers = 2") as broker:
        places = broker.server.archive_service.replay.places  # type: ignore[union-attr]
        for _ in range(3):
            connections = []
            for _ in range(2):
                one = socket.create_connection(("127.0.0.1", address(broker).port), PATIENCE)
                one.sendall(frame({"action": "read", "tail": True}))
                assert one.recv(1)
                connections.append(one)
            with pytest.raises((ReplayError, Unreachable)):
                describe(address(broker), NOBODY)
            for one in connections:
                one.close()
            eventually(lambda: places.free == 2)
        assert describe(address(broker), NOBODY)["next"] == 0


def test_a_broker_that_stops_ends_the_stream_with_an_error(tmp_path: Path) -> None:
    with archiving(tmp_path) as broker:
        publish(broker, ("a", b"1"))
        stream = read(address(broker), NOBODY, Request(tail=True))
        assert next(stream).num_rows == 1
        broker.stop()
        with pytest.raises(ReplayError):
            next(stream)
        with pytest.raises(Unreachable):
            describe(Address("127.0.0.1", 1, timeout=PATIENCE), NOBODY)


@pytest.mark.parametrize(
    ("asked", "code", "text"),
    [
        ({"start": 2}, BAD, "next offset is 1"),
        ({"end": 2}, BAD, "next offset is 1"),
        ({"start": 1, "end": 0}, BAD, "before the start"),
        ({"filters": ["a/#/b"]}, BAD, "#"),
        ({"filters": []}, BAD, "filter"),
        ({"columns": ["nope"]}, BAD, "there are broker, offset"),
        ({"start": -1}, BAD, "start"),
        ({"max_rows": "3"}, BAD, "max_rows"),
    ],
)
def test_bad_requests(tmp_path: Path, asked: dict[str, Any], code: str, text: str) -> None:
    with archiving(tmp_path) as broker:
        publish(broker, ("a", b"1"))
        with pytest.raises(ReplayError, match=text) as caught:
            payloads(broker, **asked)
        assert caught.value.code == code


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xff\xff\xff",
        b"\0\0\0\2{]",
        b"\0\0\0\2[]",
        frame({"action": "dance"}),
        frame({"version": 9, "action": "describe"}),
        frame({"action": "describe", "user": 1}),
        frame({"action": "locate"}),
        b"\0\0",
        b"",
    ],
)
def test_what_is_no_request(tmp_path: Path, data: bytes) -> None:
    with (
        archiving(tmp_path) as broker,
        socket.create_connection(("127.0.0.1", address(broker).port), PATIENCE) as connection,
    ):
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := connection.recv(4096):
            answer += chunk
        assert (b'"code":"bad"' in answer) == (len(data) > 2)
        assert describe(address(broker), NOBODY)["next"] == 0


def test_offsets_that_are_gone(tmp_path: Path) -> None:
    with archiving(tmp_path) as broker:
        publish(broker, ("a", b"1"), ("a", b"2"))
        forget(broker)
        publish(broker, ("a", b"3"))
        assert payloads(broker, start=2) == [b"3"]
        questions: list[dict[str, Any]] = [{}, {"end": 3}, {"start": 1, "tail": True}]
        for asked in questions:
            with pytest.raises(OffsetsLost) as caught:
                payloads(broker, **asked)
            lost = caught.value
            assert (lost.start, lost.end, lost.earliest) == (asked.get("start", 0), 2, 2)
        assert describe(address(broker), NOBODY)["earliest"] == 2


def test_a_file_that_cannot_be_read_is_an_error_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with archiving(tmp_path) as broker:
        publish(broker, ("a", b"1"))
        archive = broker.server.archive
        assert archive is not None
        whole = archive.reader.read

        def half(selection: Selection) -> Iterator[pa.RecordBatch]:
            yield from whole(selection)
            raise ArchiveError("the disk is gone")

        monkeypatch.setattr(archive.reader, "read", half)
        stream = read(address(broker), NOBODY, Request())
        assert next(stream).num_rows == 1
        with pytest.raises(ReplayError, match="the disk is gone") as caught:
            next(stream)
        assert caught.value.code == FAILED


def test_logins_are_those_of_clients(tmp_path: Path) -> None:
    with guarded(tmp_path) as broker:
        assert describe(address(broker), Credentials("ann", "ann"))["next"] == 0
        for wrong in (NOBODY, Credentials("ann", "bob"), Credentials("eve", "ann")):
            with pytest.raises(ReplayError) as caught:
                describe(address(broker), wrong)
            assert caught.value.code == REFUSED


def test_permissions_are_those_of_subscribers(tmp_path: Path) -> None:
    ann, bob = Credentials("ann", "ann"), Credentials("bob", "bob")
    with guarded(tmp_path) as broker:
        messages = [("a/1", b"1"), ("a/secret", b"2"), ("b/x", b"3"), ("c", b"4")]
        publish(broker, *messages, username="bob", password=b"bob")
        assert payloads(broker, bob) == [b"1", b"2", b"3", b"4"]
        assert payloads(broker, ann, filters=["a/#"]) == [b"1"]
        assert payloads(broker, ann, filters=["a/1", "+/x"]) == [b"1", b"3"]
        for denied in (["#"], ["c"], ["a/#", "c"]):
            with pytest.raises(ReplayError, match="may not read") as caught:
                payloads(broker, ann, filters=denied)
            assert caught.value.code == DENIED


def test_positions_are_hidden_as_they_are_from_subscribers(tmp_path: Path) -> None:
    with guarded(tmp_path) as broker:
        for user in ("ann", "bob"):
            client = RawClient.to(broker.port())
            client.login(client_id=user, username=user, password=user.encode())
            properties = Properties()
            properties.user = [("gpl_current_pos", "45.5;9.25"), ("k", "v")]
            client.send(Publish("a/1", b"", 1, packet_id=1, properties=properties))
            client.expect(Acknowledgement)
        for reader, sees in (("ann", [45.5, 45.5]), ("bob", [None, 45.5])):
            credentials = Credentials(reader, reader)
            request = Request(["a/1"], columns=["lat", "glp", "user_properties"])
            rows = rows_of(list(read(address(broker), credentials, request)))
            assert [row["lat"] for row in rows] == sees
            assert [row["glp"] is None for row in rows] == [lat is None for lat in sees]
            assert [row["user_properties"] for row in rows] == [[("k", "v")]] * 2
            assert set(rows[0]) == {"lat", "glp", "user_properties"}


def test_new_permissions_end_what_was_allowed_by_old_ones(tmp_path: Path) -> None:
    with guarded(tmp_path) as broker:
        publish(broker, ("a/1", b"1"), username="bob", password=b"bob")
        stream = read(address(broker), Credentials("ann", "ann"), Request(["a/1"], tail=True))
        assert next(stream).num_rows == 1
        old = broker.broker.core.permissions
        assert isinstance(old, RulePermissions)
        permissions = RulePermissions(old._book)
        broker.ask(lambda: broker.broker.set_permissions(permissions, 0.0))
        with pytest.raises(ReplayError, match="permissions have changed"):
            next(stream)


def test_failed_logins_are_limited(tmp_path: Path) -> None:
    passwords = tmp_path / "passwords"
    write_entries(passwords, {"ann": HASHER.hash("ann")})
    rest = f'[auth]\npassword_file = "{passwords}"\n[rates]\nfailed_logins_per_minute = 2'
    with archiving(tmp_path, rest=rest) as broker:
        for _ in range(2):
            with pytest.raises(ReplayError):
                describe(address(broker), Credentials("ann", "guess"))
        with pytest.raises(ReplayError, match="too many failed logins"):
            describe(address(broker), Credentials("ann", "ann"))


def test_over_tls(tmp_path: Path) -> None:
    certificate, key = authority().issue(tmp_path, "server")
    ca = authority().write(tmp_path)
    rest = f'[archive.tls]\ncertificate = "{certificate}"\nkey = "{key}"'
    with archiving(tmp_path, rest=rest) as broker:
        publish(broker, ("a", b"1"))
        plain = address(broker)
        secure = Address("localhost", plain.port, tls=True, ca_file=str(ca), timeout=PATIENCE)
        assert len(rows_of(list(read(secure, NOBODY, Request())))) == 1
        with pytest.raises(ReplayError):
            describe(Address("localhost", plain.port, tls=True, timeout=PATIENCE), NOBODY)


def test_a_slow_reader_stops_nobody(tmp_path: Path) -> None:
    with archiving(tmp_path) as broker:
        big = bytes(1_000_000)
        publish(broker, *[("a", big)] * 20)
        stream = read(address(broker), NOBODY, Request())
        first = next(stream)
        publish(broker, ("a", b"meanwhile"))
        assert payloads(broker, start=20) == [b"meanwhile"]
        assert first.num_rows + sum(batch.num_rows for batch in stream) == 20


def test_a_log_that_is_sealed_under_a_reader(tmp_path: Path) -> None:
    with archiving(tmp_path) as broker:
        publish(broker, *[("a", bytes(100_000))] * 60)
        stream = read(address(broker), NOBODY, Request(columns=["offset"]))
        first = next(stream)
        archive = broker.server.archive
        assert archive is not None
        archive.roll(is_forced=True)
        Upkeep(archive, seal_here).round()
        rows = rows_of([first, *stream])
        assert [row["offset"] for row in rows] == list(range(60))
