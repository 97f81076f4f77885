"""The sockets of one listener: bound once, and given to a new acceptor when certificates change."""

import contextlib
import os
import socket
import ssl
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from gossamer.net.config.listeners import Listener
from gossamer.net.connection_limits import ListenerPolicy
from gossamer.net.early_accept import EarlyAcceptor
from gossamer.net.proxy_protocol import TrustedProxies
from gossamer.net.transport import SocketSink
from gossamer.net.turns import Host

BACKLOG = 1024
# How long a peer may take to answer the end of TLS; the sockets of those that never do pile up.
TLS_GOODBYE_SECONDS = 5.0


class Acceptor(Protocol):
    """What asyncio's servers and ours have in common."""

    def close(self) -> None: ...


class OpenListener:
    """A listener that is bound. `accept()` starts it, or starts it anew with another context."""

    def __init__(self, host: Host, listener: Listener, policy: ListenerPolicy) -> None:
        self.listener = listener
        self.policy = policy
        self._host = host
        self._loop = host.loop
        self._sockets = _bind_unix(listener) if listener.kind == "unix" else _bind(listener)
        self._acceptors: list[Acceptor] = []
        self._context: ssl.SSLContext | None = None
        self._guards_origins = True

    @property
    def port(self) -> int:
        """The port in use; 0 for a Unix socket."""
        name = self._sockets[0].getsockname()
        return int(name[1]) if isinstance(name, tuple) else 0

    async def accept(
        self, listener: Listener, context: ssl.SSLContext | None, guards_origins: bool
    ) -> None:
        """From now on connections are accepted in this way; those that exist stay."""
        self.listener = listener
        self._context = context
        self._guards_origins = guards_origins
        old = self._acceptors
        self._acceptors = [await self._acceptor(bound.dup()) for bound in self._sockets]
        for acceptor in old:
            acceptor.close()

    def close(self) -> None:
        """Accepts no more; connections stay."""
        for acceptor in self._acceptors:
            acceptor.close()
        self._acceptors = []
        for bound in self._sockets:
            bound.close()
        if self.listener.socket is not None:
            self.listener.socket.unlink(missing_ok=True)

    async def _acceptor(self, bound: socket.socket) -> Acceptor:
        bound.setblocking(False)
        listener = self.listener
        if listener.proxy_protocol or self._context is not None:
            proxies = TrustedProxies(listener.proxies) if listener.proxy_protocol else None
            return EarlyAcceptor(
                bound, self.policy, proxies, self._tls(), self._host.sockets, self._make_sink()
            )
        make = self._make_sink()
        if self._host.sockets is not None:
            return self._host.sockets.accept(bound, make)
        create: Any = (
            self._loop.create_unix_server if listener.kind == "unix" else self._loop.create_server
        )
        server = await create(lambda: make(None, 0), sock=bound, backlog=BACKLOG)
        return server  # type: ignore[no-any-return]

    def _make_sink(self) -> Callable[[str | None, int], SocketSink]:
        """Makes the sink of a new connection; with a ticket it was admitted already."""
        if self.listener.kind in ("ws", "wss"):
            # Not at the top: a broker without such a listener has no use for websockets' code.
            from gossamer.net.websocket import HandshakePolicy
            from gossamer.net.websocket.sink import WebSocketSink

            handshake = HandshakePolicy(
                self.listener.path or "", self.listener.origins, self._guards_origins
            )
            return lambda address, ticket: WebSocketSink(
                self._host, self.policy, handshake, address, ticket
            )
        return lambda address, ticket: SocketSink(self._host, self.policy, address, ticket)

    def _tls(self) -> dict[str, Any]:
        if self._context is None:
            return {}
        return {
            "ssl": self._context,
            "ssl_handshake_timeout": self.policy.limits.connect_timeout,
            "ssl_shutdown_timeout": TLS_GOODBYE_SECONDS,
        }


def _bind(listener: Listener) -> list[socket.socket]:
    """One socket for each address that the host's name has."""
    port = listener.resolved_port
    host = listener.host
    found = socket.getaddrinfo(
        # As bytes where it can be: for a text Python loads tables of Unicode, half a megabyte.
        host.encode() if host.isascii() else host,
        port,
        type=socket.SOCK_STREAM,
        flags=socket.AI_PASSIVE,
    )
    bound: list[socket.socket] = []
    try:
        for family, _, _, _, address in dict.fromkeys(found):
            opened = socket.socket(family, socket.SOCK_STREAM)
            bound.append(opened)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # What it accepts has this from it on Linux, and elsewhere from the event loop.
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if family == socket.AF_INET6:  # else `::` would take the port of `0.0.0.0` as well
                opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            opened.bind((address[0], port, *address[2:]))
            port = int(opened.getsockname()[1])  # the free one, where 0 was asked for
            opened.listen(BACKLOG)
    except OSError:
        for opened in bound:
            opened.close()
        raise
    return bound


def _bind_unix(listener: Listener) -> list[socket.socket]:
    path = listener.socket
    assert path is not None
    _remove_stale(path)
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    umask = os.umask(0o177)  # nobody connects before the mode is what was asked for
    try:
        opened.bind(str(path))
    except OSError:
        opened.close()
        raise
    finally:
        os.umask(umask)
    path.chmod(int(listener.socket_mode, 8))
    opened.listen(BACKLOG)
    return [opened]


def _remove_stale(path: Path) -> None:
    """A socket that a broker left behind when it was killed; a living one is an error."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise OSError(f"{path} exists and is not a socket")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()
                return
        raise OSError(f"{path} is in use")


def describe(listener: Listener, port: int) -> str:
    """How a person is told where it listens."""
    return listener.changed(port=port).name
