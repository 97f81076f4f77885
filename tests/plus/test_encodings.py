"""CBOR and Sparkplug B: what rules, aggregates and fields read of them."""

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.plus.cbor import MOST_DEPTH, CborError, read_cbor
from gossamer.plus.encodings import AUTO, CBOR, SPARKPLUG, Encodings, as_json
from gossamer.plus.publication import Publication
from gossamer.plus.sparkplug import SparkplugError, read_sparkplug
from gossamer.plus.values import parse_field
from gossamer.wire.properties import Properties
from tests.support.cbor_writer import cbor

# Items of RFC 8949, Appendix A, and of its section 3.4.
ITEMS = [
    ("00", 0),
    ("17", 23),
    ("1818", 24),
    ("1b000000e8d4a51000", 1_000_000_000_000),
    ("1bffffffffffffffff", 18_446_744_073_709_551_615),
    ("c249010000000000000000", 18_446_744_073_709_551_616),
    ("3bffffffffffffffff", -18_446_744_073_709_551_616),
    ("20", -1),
    ("3903e7", -1000),
    ("f90000", 0.0),
    ("f93e00", 1.5),
    ("fa47c35000", 100_000.0),
    ("fb7e37e43c8800759c", 1.0e300),
    ("fbc010666666666666", -4.1),
    ("f97c00", None),
    ("f97e00", None),
    ("f4", False),
    ("f5", True),
    ("f6", None),
    ("f7", None),
    ("f8ff", None),
    ("c11a514b67b0", 1_363_896_240),
    ("c48221196ab3", 273.15),
    ("40", ""),
    ("4401020304", "AQIDBA=="),
    ("60", ""),
    ("62c3bc", "ü"),
    ("80", []),
    ("8301820203820405", [1, [2, 3], [4, 5]]),
    ("a201020304", {"1": 2, "3": 4}),
    ("a26161016162820203", {"a": 1, "b": [2, 3]}),
    ("5f42010243030405ff", "AQIDBAU="),
    ("7f657374726561646d696e67ff", "streaming"),
    ("9f018202039f0405ffff", [1, [2, 3], [4, 5]]),
    ("bf6346756ef563416d7421ff", {"Fun": True, "Amt": -2}),
]


@pytest.mark.parametrize(("item", "value"), ITEMS)
def test_items(item: str, value: object) -> None:
    found = read_cbor(bytes.fromhex(item))
    assert (type(found), found) == (type(value), value)
    for end in range(len(item) // 2):
        with pytest.raises(CborError):
            read_cbor(bytes.fromhex(item)[:end])
    with pytest.raises(CborError):
        read_cbor(bytes.fromhex(item) + b"\x00")


REFUSED = (
    *("", "ff", "1c", "fc", "f800", "62c328", "a1f500", "a18001", "a1ff", "c2f6", "c401", "82ff"),
    *("c4821a0001", "5f6161ff", "c482f5f5", "c4821903e801", "c1ff", "9b7fffffffffffffff", "c258ff"),
)


@pytest.mark.parametrize("item", REFUSED)
def test_what_is_refused(item: str) -> None:
    with pytest.raises(CborError):
        read_cbor(bytes.fromhex(item))


def test_depth_is_bounded() -> None:
    read_cbor(b"\x81" * MOST_DEPTH + b"\x00")
    for nested in (b"\x81" * 100_000, b"\xc1" * 100_000, b"\x9f" * 100_000):
        with pytest.raises(RecursionError):
            read_cbor(nested)


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | st.integers(-(1 << 64), (1 << 64) - 1) | FLOATS | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12
)


@given(VALUES)
def test_everything_comes_back(value: object) -> None:
    assert read_cbor(cbor(value)) == value


@given(st.binary(max_size=60), st.sampled_from([CBOR, SPARKPLUG]))
@example(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", SPARKPLUG)
def test_no_bytes_do_harm(data: bytes, encoding: str) -> None:
    try:
        assert len(as_json(data, encoding)) <= 1000 + 10 * len(data)
    except (ValueError, RecursionError):
        pass


# Sparkplug ------------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    found = b""
    while value > 127:
        found += bytes((value & 127 | 128,))
        value >>= 7
    return found + bytes((value,))


def sized(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def metric(name: str, *fields: bytes, datatype: int = 0) -> bytes:
    kind = varint(4 << 3) + varint(datatype) if datatype else b""
    return sized(2, sized(1, name.encode()) + kind + b"".join(fields))


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


DEVICE_DATA = (
    number(1, 1_700_000_000_000)
    + metric("Temperature", varint(13 << 3 | 1) + struct.pack("<d", 21.5), datatype=10)
    + metric("Line/Speed", varint(12 << 3 | 5) + struct.pack("<f", 0.5), datatype=9)
    + metric("Count", number(10, 7), datatype=7)
    + metric("Offset", number(10, (1 << 32) - 5), datatype=3)
    + metric("Far", number(11, (1 << 64) - 9), datatype=4)
    + metric("Running", number(14, 1), datatype=11)
    + metric("State", sized(15, b"ok"), datatype=12)
    + metric("Raw", sized(16, b"\x01"), datatype=17)
    + metric("Nothing", number(7, 1), number(10, 3), datatype=3)
    + sized(2, number(2, 5) + number(10, 1))  # an alias alone
    + number(3, 12)
    + sized(4, b"uuid")
)
READ = {
    "Temperature": 21.5,
    "Line/Speed": 0.5,
    "Count": 7,
    "Offset": -5,
    "Far": -9,
    "Running": True,
    "State": "ok",
    "Raw": "AQ==",
    "Nothing": None,
}


def test_metrics_are_fields() -> None:
    assert read_sparkplug(DEVICE_DATA) == READ
    publication = Publication("spBv1.0/p/DDATA/n/d", DEVICE_DATA, encoding=SPARKPLUG)
    assert publication.as_number(parse_field("Temperature")) == 21.5
    assert publication.as_number(parse_field("/Line~1Speed")) == 0.5
    assert publication.as_text(parse_field("State")) == "ok"


@pytest.mark.parametrize(
    "data", ["0a", "0aff", "0b", "12020aff", "ff" * 11, "1204500cff", "12035a0101"]
)
def test_what_is_no_sparkplug(data: str) -> None:
    with pytest.raises(SparkplugError):
        read_sparkplug(bytes.fromhex(data))


# Publications ---------------------------------------------------------------------------------


def test_numbers_texts_and_fields_are_read_alike() -> None:
    assert Publication("t", cbor(21.5), encoding=CBOR).as_number(None) == 21.5
    assert Publication("t", cbor("open"), encoding=CBOR).as_text(None) == "open"
    document = Publication("t", cbor({"sensor": {"temp": 4}}), encoding=CBOR)
    assert document.as_number(parse_field("sensor.temp")) == 4.0
    assert document.as_text(None) == '{"sensor":{"temp":4}}'
    wrong = Publication("t", b"21.5", encoding=CBOR)
    for field in (None, parse_field("a")):
        assert wrong.as_number(field) != wrong.as_number(field)
        assert wrong.trouble == "bad_encoding"
    assert wrong.as_text(None) is None
    assert wrong.trouble == "bad_encoding"
    deep = Publication("t", b"\x81" * 100, encoding=CBOR)
    assert deep.as_text(None) is None
    assert deep.trouble == "too_deep"


@pytest.mark.parametrize(
    ("topic", "content_type", "encoding"),
    [
        ("a/x", None, CBOR),
        ("a/x", "application/json", CBOR),
        ("spBv1.0/g/NDATA/n", None, SPARKPLUG),
        ("b/x", "application/cbor", CBOR),
        ("b/x", "Application/Senml+CBOR; v=1", CBOR),
        ("b/x", "application/json", ""),
        ("b/x", None, ""),
        ("c", "application/cbor", ""),
    ],
)
def test_the_first_filter_says_how(topic: str, content_type: str | None, encoding: str) -> None:
    encodings = Encodings({"a/#": CBOR, "spBv1.0/#": SPARKPLUG, "b/#": AUTO, "a/x": AUTO})
    assert encodings.find(topic, content_type) == encoding
    properties = Properties()
    properties.content_type = content_type
    assert Publication(topic, b"", 0.0, properties).content_type() == content_type
