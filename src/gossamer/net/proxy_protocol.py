"""The PROXY protocol, version 2: who the client behind a trusted proxy is. Bytes in, address out.

Version 1 is text that a client could write by itself; only the binary version is understood.
"""

import ipaddress
from typing import Final, NamedTuple

SIGNATURE: Final = b"\r\n\r\n\x00\r\nQUIT\n"
HEADER: Final = 16
LONGEST: Final = 4096  # Room for every TLV in use; the length field could say 64 KiB.
LOCAL: Final = 0x20  # The proxy itself speaks (a health check).
PROXIED: Final = 0x21
# Family and transport → bytes of one address. Anything else says nothing that we could check.
STREAMS: Final[dict[int, int]] = {0x11: 4, 0x21: 16}


class ProxyError(Exception):
    """What came is not a header of PROXY protocol v2."""


class ProxyHeader(NamedTuple):
    """`size` bytes of the stream belong to the header. `address` is None if the proxy speaks."""

    size: int
    address: str | None


def read_header(data: bytes) -> ProxyHeader | None:
    """The header at the start of `data`; None until all of it is there."""
    if not SIGNATURE.startswith(data[: len(SIGNATURE)]):
        raise ProxyError("no PROXY protocol v2 header")
    if len(data) < HEADER:
        return None
    command, family = data[12], data[13]
    size = HEADER + int.from_bytes(data[14:16])
    if command not in (LOCAL, PROXIED):
        raise ProxyError("an unknown version or command of the PROXY protocol")
    if size > LONGEST:
        raise ProxyError("a PROXY header that is too long")
    if len(data) < size:
        return None
    if command == LOCAL:
        return ProxyHeader(size, None)
    width = STREAMS.get(family)
    if width is None or size - HEADER < 2 * width + 4:
        raise ProxyError("a PROXY header without a TCP address")
    return ProxyHeader(size, str(ipaddress.ip_address(data[HEADER : HEADER + width])))


class TrustedProxies:
    """The networks whose header is believed."""

    __slots__ = ("_networks",)

    def __init__(self, networks: tuple[str, ...]) -> None:
        self._networks = [ipaddress.ip_network(network) for network in networks]

    def trusts(self, address: str) -> bool:
        """Of a peer's address; a Unix socket ("") is guarded by its file mode instead."""
        if not address:
            return True
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        mapped = getattr(parsed, "ipv4_mapped", None)
        return any((mapped or parsed) in network for network in self._networks)
