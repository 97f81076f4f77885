"""How ``sub`` prints: the fields of a format, and JSON for every payload."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.cli.errors import WrongUse
from gossamer.cli.formats import as_json, compile_format
from gossamer.wire.packets import Publish
from gossamer.wire.properties import Properties

NOW = 1_700_000_000.25


def message(payload: bytes = b"21.5") -> Publish:
    properties = Properties()
    properties.content_type = "text/plain"
    properties.user = [("a", "1"), ("b", "2")]
    properties.subscription_ids = [3, 4]
    return Publish("room/1", payload, 1, True, False, 9, properties)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%t %p", b"room/1 21.5"),
        ("%q%r%l%m", b"1149"),
        ("%x|%X", b"32312e35|32312E35"),
        ("100%%", b"100%"),
        ("a\\tb\\n\\\\\\q", b"a\tb\n\\\\q"),
        ("%U", b"1700000000.250000"),
        ("%C [%P] [%S] [%R]", b"text/plain [a:1 b:2] [3 4] []"),
    ],
)
def test_fields(text: str, expected: bytes) -> None:
    assert compile_format(text)(message(), NOW) == expected


@pytest.mark.parametrize("text", ["%Q", "%", "%t %"])
def test_an_unknown_field_is_named(text: str) -> None:
    with pytest.raises(WrongUse, match="-F has no field %"):
        compile_format(text)


@given(payload=st.binary(max_size=50))
def test_json_gives_every_payload_back(payload: bytes) -> None:
    line = as_json(message(payload), NOW)
    assert "\n" not in line
    document = json.loads(line)
    if "payload" in document:
        assert document["payload"].encode() == payload
    else:
        assert base64.b64decode(document["payload_base64"]) == payload


def test_a_json_payload_can_be_part_of_the_document() -> None:
    assert json.loads(compile_format("%J")(message(b'{"v": 1}'), NOW))["payload"] == {"v": 1}
    assert json.loads(compile_format("%J")(message(b"not json"), NOW))["payload"] == "not json"
