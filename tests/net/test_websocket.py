"""The WebSocket machine: frames split and joined anywhere, and every refusal of RFC 6455."""

import gc
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from gossamer.net.websocket import HandshakePolicy, WebSocketServer
from gossamer.net.websocket.frames import FrameError, read_head
from tests.support.websocket_frames import MASK, REQUEST, frame


def opened(policy: HandshakePolicy | None = None) -> WebSocketServer:
    server = WebSocketServer(policy or HandshakePolicy())
    assert server.receive(REQUEST.encode()) == b""
    assert server.is_open
    server.output.clear()
    return server


def test_the_handshake_of_the_standard() -> None:
    """[MQTT-6.0.0-4]"""
    server = WebSocketServer(HandshakePolicy())
    for byte in REQUEST.encode():
        assert not server.is_open
        server.receive(bytes((byte,)))
    assert server.is_open
    assert b"HTTP/1.1 101 " in server.output
    assert b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" in server.output
    assert b"Sec-WebSocket-Protocol: mqtt\r\n" in server.output


REFUSED = [
    (("GET /mqtt", "POST /mqtt"), 405),
    (("/mqtt HTTP", "/other HTTP"), 404),
    (("HTTP/1.1", "HTTP/1.0"), 400),
    (("Host: here\r\n", ""), 400),
    (("Upgrade: websocket\r\n", ""), 426),
    (("keep-alive, Upgrade", "keep-alive"), 426),
    (("Version: 13", "Version: 8"), 426),
    (("dGhlIHNhbXBsZSBub25jZQ==", "dGhl"), 400),
    (("dGhlIHNhbXBsZSBub25jZQ==", "!!!"), 400),
    (("chat, mqtt", "chat"), 400),
    (("Host: here", " folded"), 400),
    (("GET /mqtt HTTP/1.1", "\x16\x03\x01"), 400),
    (("Version: 13", "Version: 1\xb3"), 400),
    (("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ=\xe4"), 400),
    (("Upgrade: websocket", "Upgrade: w\xe4bsocket"), 400),
    (("chat, mqtt", "ch\xe4t, mqtt"), 400),
    (("Host: here", "Origin: a\r\nHost: here"), 400),
    (("Host: here", "Host: here\r\nX: " + "x" * 9000), 400),
    (("Host: here", "Host: here" + "\r\nX: x" * 200), 400),
]


@pytest.mark.parametrize(("change", "status"), REFUSED)
def test_refused_handshakes(change: tuple[str, str], status: int) -> None:
    server = WebSocketServer(HandshakePolicy("/mqtt"))
    assert server.receive(REQUEST.replace(*change, 1).encode("latin-1")) == b""
    assert server.closing
    assert not server.is_open
    assert server.output.startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize("path", ["/", "/mqtt", "/other?token=1"])
def test_any_path_is_good_where_none_is_configured(path: str) -> None:
    server = WebSocketServer(HandshakePolicy())
    server.receive(REQUEST.replace("/mqtt", path, 1).encode())
    assert server.is_open


@given(st.binary(max_size=60), st.integers(0, 7))
def test_no_header_breaks_the_handshake(value: bytes, line: int) -> None:
    """Whatever a header says, the answer is HTTP and not an exception."""
    lines = REQUEST.encode().removesuffix(b"\r\n\r\n").split(b"\r\n")
    name = lines[line].partition(b" ")[0]
    lines[line] = name + b" " + value
    server = WebSocketServer(HandshakePolicy(origins=("https://page.example",)))
    server.receive(b"\r\n".join(lines) + b"\r\n\r\n")
    assert server.output.startswith(b"HTTP/1.1 ")
    assert not server.output.startswith(b"HTTP/1.1 5")
    assert server.is_open is not server.closing


def test_what_a_handshake_held_is_gone_with_it() -> None:
    """Nothing is left for the cyclic collector, whoever comes and however often."""
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(100):
            opened()
        assert len(gc.get_objects()) - before < 100
    finally:
        gc.enable()


def test_an_endless_request_is_refused() -> None:
    server = WebSocketServer(HandshakePolicy())
    for _ in range(100):
        server.receive(b"x" * 1000)
    assert server.output.startswith(b"HTTP/1.1 431 ")


def test_origins() -> None:
    assert opened(HandshakePolicy(origins=("https://PAGE.example",))).is_open
    server = WebSocketServer(HandshakePolicy(origins=("https://other.example",)))
    server.receive(REQUEST.encode())
    assert server.output.startswith(b"HTTP/1.1 403 ")


@given(st.lists(st.binary(max_size=300), max_size=8), st.data())
def test_frames_split_and_joined_anywhere(messages: list[bytes], data: st.DataObject) -> None:
    """[MQTT-6.0.0-2]"""
    stream = REQUEST.encode()
    for message in messages:
        cut = data.draw(st.integers(0, len(message)))
        mask = data.draw(st.binary(min_size=4, max_size=4))
        stream += frame(2, message[:cut], final=False, mask=mask)
        stream += frame(9, b"are you there")
        stream += frame(0, message[cut:], mask=mask)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    server = WebSocketServer(HandshakePolicy())
    got = b""
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        got += server.receive(stream[start:end])
    assert got == b"".join(messages)
    assert not server.closing


def test_a_large_frame_byte_by_byte_keeps_nothing() -> None:
    payload = os.urandom(70_000)
    stream = frame(2, payload)
    server = opened()
    pieces = [server.receive(stream[at : at + 7]) for at in range(0, len(stream), 7)]
    assert b"".join(pieces) == payload
    assert max(len(piece) for piece in pieces) <= 7


BROKEN = [
    (frame(1, b"text"), 1003),  # [MQTT-6.0.0-1]
    (frame(0, b"x"), 1002),
    (frame(2, b"x", final=False) + frame(2, b"y"), 1002),
    (frame(0xC2, b"x"), 1002),
    (frame(3, b"x"), 1003),
    (frame(0xB, b"x"), 1002),
    (frame(9, b"x", final=False), 1002),
    (frame(9, b"x" * 126), 1002),
    (b"\x82\x01x", 1002),
    (b"\x82\xfe\x00\x05" + MASK, 1002),
    (b"\x82\xff" + (1 << 63).to_bytes(8) + MASK, 1002),
    (frame(8, b"\x03"), 1002),
    (frame(8, (1005).to_bytes(2)), 1002),
]


@pytest.mark.parametrize(("stream", "code"), BROKEN)
def test_what_breaks_the_standard_is_closed(stream: bytes, code: int) -> None:
    server = opened()
    server.receive(stream)
    assert server.closing
    assert bytes(server.output) == b"\x88\x02" + code.to_bytes(2)
    assert server.receive(frame(2, b"late")) == b""


def test_close_is_answered_and_ping_before_it_too() -> None:
    server = opened()
    assert server.receive(frame(2, b"abc") + frame(9, b"hi") + frame(8, b"\x03\xe8bye")) == b"abc"
    assert bytes(server.output) == b"\x8a\x02hi\x88\x02\x03\xe8"
    assert server.closing


def test_a_flood_of_pings_is_answered_once() -> None:
    server = opened()
    server.receive(frame(9, b"a") * 1000 + frame(9, b"b"))
    assert bytes(server.output) == b"\x8a\x01b"


def test_a_peer_written_by_others_understands() -> None:
    client = ClientProtocol(
        parse_uri("ws://here/mqtt"), subprotocols=[Subprotocol("mqtt")], max_size=None
    )
    server = WebSocketServer(HandshakePolicy())
    client.send_request(client.connect())
    for data in client.data_to_send():
        server.receive(data)
    client.receive_data(bytes(server.output))
    server.output.clear()
    for length in (0, 1, 125, 126, 65535, 65536, 100_000):
        payload = os.urandom(length)
        client.send_binary(payload)
        client.send_ping(b"p")
        assert b"".join(server.receive(data) for data in client.data_to_send()) == payload
        client.receive_data(bytes(server.output) + server.wrap(payload))
        server.output.clear()
        received = [event for event in client.events_received() if isinstance(event, Frame)]
        assert [(one.opcode, one.data) for one in received] == [
            (Opcode.PONG, b"p"),
            (Opcode.BINARY, payload),
        ]


@given(st.binary(max_size=200))
def test_no_bytes_break_the_machine(data: bytes) -> None:
    server = opened()
    server.receive(data)
    fresh = WebSocketServer(HandshakePolicy())
    fresh.receive(data + b"\r\n\r\n")
    try:
        read_head(data, 0, masked=True)
    except FrameError:
        assert server.closing
