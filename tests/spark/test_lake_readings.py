"""Payloads as readings: what each becomes, and why some are set aside."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gossamer
from gossamer.plus.values import look_up, parse_field, read_document
from gossamer.spark.lake.batch_rows import split
from gossamer.spark.lake.readings import (
    DEEPEST,
    MOST_FIELDS,
    NEWEST,
    OLDEST,
    FieldReading,
    Unreadable,
    event_time,
    pointer,
    read_payload,
)

NUMBERS = [(b"21.5", 21.5), (b" -0 ", 0.0), (b"1e3\n", 1000.0)]
TEXTS = [b"ON", b"NaN", b'"half', b"21,5", b"truely", "°C".encode()]
DOCUMENTS: list[tuple[bytes, list[FieldReading]]] = [
    (b'"on"', [FieldReading("", "text", None, "on")]),
    (b" true ", [FieldReading("", "boolean", None, "true")]),
    (b"null", [FieldReading("", "null", None, None)]),
    (b"{}", []),
    (b'{"t": 1, "a": [2, "x"]}', [
        FieldReading("/t", "number", 1.0, None),
        FieldReading("/a/0", "number", 2.0, None),
        FieldReading("/a/1", "text", None, "x"),
    ]),
    (b'{"a/b": {"~": false}}', [FieldReading("/a~1b/~0", "boolean", None, "false")]),
    (b'{"big": 1e999}', [FieldReading("/big", "number", None, None)]),
    (b'{"s": "\\ud83d"}', [FieldReading("/s", "text", None, "?")]),
    (b"[" * (DEEPEST + 1) + b"7" + b"]" * (DEEPEST + 1), [
        FieldReading("/0" * DEEPEST, "json", None, "[7]"),
    ]),
]  # fmt: skip
ASIDE = [
    (b"", "it is empty"),
    (b"\xff\xd8\xff", "it is not UTF-8"),
    (b'{"t": 1', "it is not JSON"),
    (b'{"t": NaN}', "it is not JSON"),
    (b"1e999", "it is a number out of range"),
    (b"[" * 100_000, "it is nested too deeply"),
    (b"x" * (1 << 20) + b"x", "it is over 1048576 bytes"),
    (json.dumps([0] * (MOST_FIELDS + 1)).encode(), f"it has over {MOST_FIELDS} fields"),
]


@pytest.mark.parametrize(("payload", "number"), NUMBERS)
def test_numbers(payload: bytes, number: float) -> None:
    assert read_payload(payload) == [FieldReading("", "number", number, None)]


@pytest.mark.parametrize("payload", TEXTS)
def test_texts(payload: bytes) -> None:
    assert read_payload(payload) == [FieldReading("", "text", None, payload.decode())]


@pytest.mark.parametrize(("payload", "readings"), DOCUMENTS)
def test_documents(payload: bytes, readings: list[FieldReading]) -> None:
    assert read_payload(payload) == readings


@pytest.mark.parametrize(("payload", "reason"), ASIDE, ids=[reason for _, reason in ASIDE])
def test_what_is_set_aside(payload: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=f"^{reason}$"):
        read_payload(payload)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_payload_is_read_or_has_a_reason(payload: bytes) -> None:
    with suppress(Unreadable):
        for reading in read_payload(payload):
            (reading.text or "").encode()


names = st.text(max_size=5)
values = st.recursive(
    st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(names, values, min_size=1, max_size=3))
def test_a_field_is_where_the_broker_finds_it(document: dict[str, object]) -> None:
    payload = json.dumps(document).encode()
    for reading in read_payload(payload):
        found = look_up(read_document(payload.decode()), parse_field(reading.field))
        if reading.kind == "number":
            assert found == reading.number
        elif reading.kind == "text":
            assert found == reading.text


NOW = 1_790_000_000_000_000


@pytest.mark.parametrize(
    ("stated", "micros"),
    [
        (1_790_000_000, NOW),
        (1_790_000_000_000, NOW),
        (NOW, NOW),
        ("2026-09-21T14:13:20Z", NOW),
        ("2026-09-21T16:13:19.5+02:00", NOW - 500_000),
    ],
)
def test_event_times(stated: object, micros: int) -> None:
    readings = read_payload(json.dumps({"at": {"ts": stated}}).encode())
    assert event_time(readings, pointer(parse_field("at.ts")), NOW) == micros
    assert event_time(readings, "/elsewhere", NOW + 1) == NOW + 1


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        (0, "its event time is implausible"),
        (NOW - OLDEST - 1, "its event time is implausible"),
        (NOW + NEWEST + 1, "its event time is implausible"),
        ("yesterday", "its event time is no time"),
        (None, "its event time is no time"),
    ],
)
def test_times_that_cannot_be(stated: object, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        event_time(read_payload(json.dumps({"ts": stated}).encode()), "/ts", NOW)


def test_a_batch_of_rows() -> None:
    from gossamer.spark.lake.readings import SCHEMA, read_batch

    payloads = [b"1", b'{"a": 2, "b": 3}', b"{", b"{}"]
    batch = pa.RecordBatch.from_pydict(
        {
            "broker": ["b"] * 4,
            "offset": range(4),
            "topic": ["t"] * 4,
            "publisher": ["p"] * 4,
            "content_type": pa.array([None] * 4, pa.string()),
            "time": pa.array([NOW] * 4, pa.timestamp("us", "UTC")),
            "payload": payloads,
        }
    )
    found = read_batch(batch, "")
    rows = [(row["offset"], row["number"], row["reason"]) for row in found.to_pylist()]
    assert rows == [(0, 1.0, None), (1, 2.0, None), (1, 3.0, None), (2, None, "it is not JSON")]
    assert read_batch(batch.slice(3), "").schema == SCHEMA


def test_executors_do_not_need_the_library_of_tables() -> None:
    """They get the package from the driver, and have pyarrow and pandas; not deltalake."""
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    sent = cloudpickle.dumps(split({}, 1, "/ts")).hex()
    code = (
        "import sys; sys.modules['deltalake'] = None\n"
        "from pyspark import cloudpickle\n"
        f"work = cloudpickle.loads(bytes.fromhex('{sent}'))\n"
        "assert list(work(iter([]))) == []"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(Path(gossamer.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
