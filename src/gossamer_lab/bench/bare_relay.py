"""What each broker of a line must do for one message a read, and nothing else: whoever connects is
piped to the next of the line. The last of it is a `bare_loop`.

python -m gossamer_lab.bench.bare_relay PORT NEXT_PORT
"""

import os
import select
import socket
import sys

READ_SIZE = 65536


class BareRelay:
    def __init__(self, port: int, next_port: int) -> None:
        self.listening = socket.create_server(("127.0.0.1", port), backlog=1024)
        self._next = ("127.0.0.1", next_port)
        self._poll = select.epoll()
        self._poll.register(self.listening.fileno(), select.EPOLLIN)
        self._others: dict[int, socket.socket] = {}  # by one end of a pipe: the other

    def run(self) -> None:
        poll, others, listening = self._poll.poll, self._others, self.listening.fileno()
        while True:
            for number, _ in poll():
                if number == listening:
                    self._accept()
                    continue
                try:
                    chunk = os.read(number, READ_SIZE)
                    if chunk:
                        others[number].sendall(chunk)
                        continue
                except (OSError, KeyError):
                    pass
                self._close(number)

    def _accept(self) -> None:
        near, _ = self.listening.accept()
        far = socket.create_connection(self._next)
        for one, other in ((near, far), (far, near)):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._others[one.fileno()] = other
            self._poll.register(one.fileno(), select.EPOLLIN)

    def _close(self, number: int) -> None:
        """With its other end."""
        far = self._others.pop(number, None)
        near = None if far is None else self._others.pop(far.fileno(), None)
        for one in (near, far):
            if one is not None:
                self._poll.unregister(one.fileno())
                one.close()


def main() -> None:
    BareRelay(int(sys.argv[1]), int(sys.argv[2])).run()


if __name__ == "__main__":
    main()
