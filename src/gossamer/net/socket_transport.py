"""What a sink needs of the socket under it, whoever moves the bytes: the event loop (TLS, and
systems without epoll) or our own poll over all plain sockets (`epoll_sockets.py`).

The methods are those of asyncio's transports, and promise the same.
"""

from asyncio import Transport
from typing import Any

from mypy_extensions import mypyc_attr


@mypyc_attr(acyclic=True)
class SocketTransport:
    """One socket. It tells its sink what asyncio tells a protocol; the sink lets go of it when it
    is told of the end."""

    def write(self, data: bytes) -> None:
        """Sends, or keeps what the socket does not take now."""

    def get_write_buffer_size(self) -> int:
        """Bytes that it keeps."""
        return 0

    def set_write_buffer_limit(self, most: int) -> None:
        """The sink is told when more than that is kept, and when half of it is left."""

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None:
        """Once everything written has been sent."""

    def abort(self) -> None:
        """Now; what was not sent is lost."""

    def is_closing(self) -> bool:
        return False

    def is_encrypted(self) -> bool:
        """Whether it speaks TLS."""
        return False

    def peer_address(self) -> str:
        """The peer's address, "" if it has none (a Unix socket), or if who made it knows it."""
        return ""

    def certificate(self) -> dict[str, Any] | None:
        """That of the other side, verified; None without TLS."""
        return None


@mypyc_attr(acyclic=True)
class LoopTransport(SocketTransport):
    """One that the event loop has made."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size()

    def set_write_buffer_limit(self, most: int) -> None:
        self._transport.set_write_buffer_limits(high=most, low=most // 2)

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def close(self) -> None:
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def is_encrypted(self) -> bool:
        return self._transport.get_extra_info("sslcontext") is not None

    def peer_address(self) -> str:
        return plain_address(self._transport.get_extra_info("peername"))

    def certificate(self) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self._transport.get_extra_info("peercert")
        return found


def plain_address(peer: object) -> str:
    """Of what a socket says about its peer: the address, "" if it has none."""
    if not isinstance(peer, tuple):
        return ""
    address = str(peer[0])
    return address[7:] if address.startswith("::ffff:") and "." in address else address
