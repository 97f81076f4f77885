"""A login without IO: it ends with a CONNACK, whatever the pieces, and leaves what came behind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.client.login import EnhancedAuthentication, Login
from gossamer.wire.codec import encode
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import V5, V311, Auth, Connack, Connect, Disconnect, Publish
from gossamer.wire.reasons import CONTINUE_AUTHENTICATION, NOT_AUTHORIZED, PROTOCOL_ERROR
from tests.support.packet_bytes import properties, said


@given(st.integers(1, 40), st.sampled_from([V311, V5]))
def test_what_comes_behind_connack_is_left_in_any_pieces(size: int, version: int) -> None:
    connect = Connect("c", version)
    login = Login(connect)
    assert login.request == encode(connect, version)
    behind = encode(Publish("a", b"x" * 20), version)
    data = encode(Connack(True, 0), version) + behind
    at = 0
    while login.connack is None:
        assert login.receive(data[at : at + size]) == b""
        at += size
    assert said(login.connack) == said(Connack(True, 0))
    assert login.rest + data[at:] == behind


def test_a_refusal_is_an_answer() -> None:
    login = Login(Connect("c"), EnhancedAuthentication("m"))
    login.receive(encode(Connack(False, NOT_AUTHORIZED), V5))
    assert login.connack is not None
    assert login.connack.reason == NOT_AUTHORIZED


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (encode(Publish("a", b""), V5), "before CONNACK"),
        (encode(Disconnect(0x8B), V5), "0x8b"),
        (encode(Disconnect(0x8B, properties(reason_string="going down")), V5), "going down"),
        (b"\x20\xff\xff\x7f", "not an MQTT broker"),
    ],
)
def test_what_is_no_answer_is_not_waited_for(answer: bytes, text: str) -> None:
    with pytest.raises(ProtocolError, match=text) as caught:
        Login(Connect("c")).receive(answer)
    assert caught.value.reason == PROTOCOL_ERROR


def test_a_challenge_needs_somebody_who_can_answer() -> None:
    asked = properties(authentication_method="m", authentication_data=b"who?")
    challenge = encode(Auth(CONTINUE_AUTHENTICATION, asked), V5)
    with pytest.raises(ProtocolError) as caught:
        Login(Connect("c"), EnhancedAuthentication("m")).receive(challenge)
    assert caught.value.reason == NOT_AUTHORIZED
