"""One client's flood, seen by another: latency beside a client that sends all it can.

The flood is a process of its own on the generator's core, at a lower priority, so that what is
measured is the broker's fairness and not the generator's.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gossamer_lab.bench.brokers import latency, mqtt
from gossamer_lab.bench.brokers.bursts import PAYLOAD
from gossamer_lab.bench.brokers.link import BenchLink, GeneratorError, open_link
from gossamer_lab.bench.brokers.measurement import BenchTarget, Measurement

TOPIC = "bench/flood"
BURST = 2000
LOWER_PRIORITY = 10


def quiet(target: BenchTarget) -> Measurement:
    return latency.at_fixed_rate(target)


def beside_qos_0(target: BenchTarget) -> Measurement:
    return _beside(target, 0)


def beside_qos_1(target: BenchTarget) -> Measurement:
    return _beside(target, 1)


def _beside(target: BenchTarget, qos: int) -> Measurement:
    with _flood(target, qos):
        return latency.at_fixed_rate(target)


@contextmanager
def _flood(target: BenchTarget, qos: int) -> Iterator[None]:
    command = [sys.executable, "-m", __name__, target.host, str(target.port), str(qos)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        if process.stdout.readline() != b"flooding\n":
            raise GeneratorError("the flood did not start")
        yield
        if process.poll() is not None:
            raise GeneratorError("the flood was cut off")
    finally:
        process.kill()
        process.communicate()


def _read_all(link: BenchLink) -> None:
    while link.socket.recv(1 << 20):
        pass


def main(host: str, port: int, qos: int) -> None:
    """Sends bursts for ever, and reads the answers without looking at them."""
    os.nice(LOWER_PRIORITY)
    link = open_link((host, port), "flood")
    link.socket.settimeout(None)
    burst = b"".join(mqtt.publish(TOPIC, PAYLOAD, qos, number + 1) for number in range(BURST))
    threading.Thread(target=_read_all, args=(link,), daemon=True).start()
    link.socket.sendall(burst)
    print("flooding", flush=True)
    while True:
        link.socket.sendall(burst)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
