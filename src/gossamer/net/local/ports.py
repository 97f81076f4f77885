"""Ports for brokers that may be started again on the same one."""

import random
import socket
from typing import Final

# Below the range from which systems take ports for outgoing connections: nobody takes ours while
# a broker is down.
_PORTS: Final = range(20_000, 32_000)


def free_ports(count: int) -> list[int]:
    """So many different ports of this machine; OSError if there are not."""
    found: list[int] = []
    for port in random.sample(_PORTS, len(_PORTS)):
        if len(found) == count:
            break
        if is_free(port):
            found.append(port)
    if len(found) < count:
        raise OSError("this machine has no free ports left")
    return found


def free_port() -> int:
    """One of them."""
    return free_ports(1)[0]


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the broker binds: a port whose last connection lingers is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
