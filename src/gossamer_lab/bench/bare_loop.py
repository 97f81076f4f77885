"""What any broker must do for one message a read, and nothing else: `epoll`, `read`, `write`.

The referee of such scenarios: what a broker costs beyond it is the broker's own. It understands as
much of MQTT 3.1.1 as its generator needs to begin; from a publisher's second chunk on, each is
passed to the one subscriber of its first topic, whatever is in it.

python -m gossamer_lab.bench.bare_loop PORT
"""

import os
import select
import socket
import sys
from collections.abc import Iterator

from gossamer_lab.bench.load.packets import CONNACK

CONNECT, PUBLISH, SUBSCRIBE = 0x10, 0x30, 0x82
READ_SIZE = 65536


def split(chunk: bytes) -> Iterator[tuple[int, bytes]]:
    """The first byte and the body of every packet in it."""
    at = 0
    while at < len(chunk):
        head, size, shift = chunk[at], 0, 0
        while True:
            at += 1
            size |= (chunk[at] & 0x7F) << shift
            shift += 7
            if chunk[at] < 0x80:
                break
        yield head, chunk[at + 1 : at + 1 + size]
        at += 1 + size


def text_at(body: bytes, start: int) -> bytes:
    return body[start + 2 : start + 2 + int.from_bytes(body[start : start + 2])]


class BareLoop:
    def __init__(self, port: int) -> None:
        self.listening = socket.create_server(("127.0.0.1", port), backlog=1024)
        self._poll = select.epoll()
        self._poll.register(self.listening.fileno(), select.EPOLLIN)
        self._sockets: dict[int, socket.socket] = {}
        self._subscribers: dict[bytes, int] = {}
        self._receivers: dict[int, int] = {}  # publisher → subscriber

    def run(self) -> None:
        poll, read, write = self._poll.poll, os.read, os.write
        receivers, listening = self._receivers, self.listening.fileno()
        while True:
            for number, _ in poll():
                if number == listening:
                    self._accept()
                    continue
                try:
                    chunk = read(number, READ_SIZE)
                    if number in receivers and chunk:
                        write(receivers[number], chunk)
                    elif chunk:
                        self._begin(number, chunk)
                    else:
                        self._close(number)
                except OSError:
                    self._close(number)

    def _accept(self) -> None:
        accepted, _ = self.listening.accept()
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        accepted.setblocking(False)
        self._sockets[accepted.fileno()] = accepted
        self._poll.register(accepted.fileno(), select.EPOLLIN)

    def _begin(self, number: int, chunk: bytes) -> None:
        for head, body in split(chunk):
            if head == CONNECT:
                os.write(number, CONNACK)
            elif head == SUBSCRIBE:
                self._subscribers[text_at(body, 2)] = number
                os.write(number, bytes([0x90, 3]) + body[:2] + b"\0")
            elif head & 0xF0 == PUBLISH and text_at(body, 0) in self._subscribers:
                self._receivers[number] = self._subscribers[text_at(body, 0)]
                os.write(self._receivers[number], chunk)
                return

    def _close(self, number: int) -> None:
        self._receivers.pop(number, None)
        self._poll.unregister(number)
        self._sockets.pop(number).close()


def main() -> None:
    BareLoop(int(sys.argv[1])).run()


if __name__ == "__main__":
    main()
