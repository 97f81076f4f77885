"""PROXY protocol v2: addresses from trusted proxies only, in headers that are whole and sane."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.net.proxy_protocol import SIGNATURE, ProxyError, TrustedProxies, read_header
from tests.support.proxy_headers import header


@pytest.mark.parametrize("source", ["192.0.2.7", "2001:db8::7"])
@pytest.mark.parametrize("extra", [b"", b"\x03\x00\x04abcd"])
def test_the_source_address_byte_by_byte(source: str, extra: bytes) -> None:
    data = header(source, extra=extra)
    for end in range(len(data)):
        assert read_header(data[:end]) is None
    found = read_header(data + b"\x10\x00")
    assert found is not None
    assert (found.address, found.size) == (source, len(data))


def test_the_proxy_itself() -> None:
    found = read_header(header("192.0.2.7", command=0x20))
    assert found is not None
    assert found.address is None


WRONG = [
    b"PROXY TCP4 192.0.2.7",
    b"\x10\x0c\x00\x04MQTT",
    SIGNATURE[:-1] + b"x",
    header("192.0.2.7", command=0x31),
    header("192.0.2.7", command=0x22),
    header("192.0.2.7", family=0x12),
    header("192.0.2.7", family=0x00),
    header("192.0.2.7", family=0x21),
    SIGNATURE + b"\x21\x11\xff\xff",
    SIGNATURE + b"\x21\x11\x00\x00",
]


@pytest.mark.parametrize("data", WRONG)
def test_what_is_no_header(data: bytes) -> None:
    with pytest.raises(ProxyError):
        read_header(data)


@given(st.binary(max_size=64))
def test_no_bytes_break_it(data: bytes) -> None:
    for start in (b"", SIGNATURE):
        try:
            read_header(start + data)
        except ProxyError:
            pass


def test_trust() -> None:
    proxies = TrustedProxies(("10.0.0.0/8", "::1/128"))
    assert proxies.trusts("10.1.2.3")
    assert proxies.trusts("::ffff:10.1.2.3")
    assert proxies.trusts("::1")
    assert proxies.trusts("")
    assert not proxies.trusts("192.0.2.1")
    assert not proxies.trusts("nonsense")
    assert not TrustedProxies(()).trusts("127.0.0.1")
