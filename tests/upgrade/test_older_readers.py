"""What the replay client of an earlier version asked, byte for byte, is answered as it expects."""

import hashlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

from tests.support.archive_brokers import archiving, replay_port
from tests.support.kept_fixtures import Fixture

# Those of 0.1.0, in their order: what a request of that version gets that names none.
COLUMNS = (
    *("broker", "offset", "time", "topic", "payload", "qos", "retain", "content_type"),
    *("format_indicator", "response_topic", "correlation_data", "expiry", "user_properties"),
    *("publisher", "user", "lat", "lon", "glp"),
)


@pytest.fixture
def port(fixture: Fixture, data: Path) -> Iterator[int]:
    with archiving(data / "archive", fixture.table("broker")["archive"]["name"]) as broker:
        yield replay_port(broker)


def frame(file: Any) -> dict[str, Any]:
    size = int.from_bytes(file.read(4), "big")
    answer = json.loads(file.read(size))
    assert isinstance(answer, dict)
    return answer


def ask(fixture: Fixture, port: int, way: str) -> tuple[dict[str, Any], Any]:
    """The status, and the table of rows if there is one."""
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.sendall(bytes.fromhex(fixture.table("replay")[way]))
        with connection.makefile("rb") as file:
            status = frame(file)
            assert status["ok"] is True, status
            if way in ("describe", "locate"):
                return status, None
            table = pa.ipc.open_stream(file).read_all()
            assert frame(file)["ok"] is True
            return status, table


def test_describe_and_locate(fixture: Fixture, port: int) -> None:
    told = fixture.table("broker")["archive"]
    status, _ = ask(fixture, port, "describe")
    found = (status["broker"], status["earliest"], status["next"])
    assert found == (told["name"], told["earliest"], told["next"])
    assert all(
        {"first", "last", "min_time", "max_time", "rows", "bytes", "sealed"} <= set(one)
        for one in status["segments"]
    )
    status, _ = ask(fixture, port, "locate")
    assert status["offset"] == 0


def test_rows(fixture: Fixture, port: int) -> None:
    rows = fixture.table("broker")["archive"]["rows"]
    _, table = ask(fixture, port, "read")
    assert tuple(table.schema.names) == COLUMNS
    found = table.select(["offset", "topic", "payload", "qos"]).to_pylist()
    for row in found:
        row["payload"] = hashlib.sha256(row["payload"]).hexdigest()
    names = ("offset", "topic", "payload", "qos")
    assert found == [{name: row[name] for name in names} for row in rows[3:90]]


def test_chosen_columns_and_times(fixture: Fixture, port: int) -> None:
    rows = fixture.table("broker")["archive"]["rows"]
    _, table = ask(fixture, port, "columns")
    assert table.to_pylist() == [{"offset": one["offset"], "topic": one["topic"]} for one in rows]
    _, table = ask(fixture, port, "times")
    assert table.column("offset").to_pylist() == list(range(7))
