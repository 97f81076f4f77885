"""What a proxy sends before a client's own bytes: a header of the PROXY protocol, version 2."""

import ipaddress

from gossamer.net.proxy_protocol import SIGNATURE


def header(
    source: str, command: int = 0x21, family: int | None = None, extra: bytes = b""
) -> bytes:
    address = ipaddress.ip_address(source)
    body = address.packed * 2 + b"\x30\x39\x07\x5b" + extra
    kind = (0x11 if address.version == 4 else 0x21) if family is None else family
    return SIGNATURE + bytes((command, kind)) + len(body).to_bytes(2) + body
