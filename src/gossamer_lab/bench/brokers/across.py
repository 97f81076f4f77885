"""Publishers at the first broker of a chain, subscribers at the last."""

import time
from collections.abc import Sequence

from gossamer_lab.bench.brokers import mqtt
from gossamer_lab.bench.brokers.bursts import (
    BURST,
    BURST_WINDOW,
    PAIR_BURST,
    PAIR_WINDOW,
    PAIRS,
    paired,
)
from gossamer_lab.bench.brokers.flow import READ_SIZE, LoadGroup, measure
from gossamer_lab.bench.brokers.link import GeneratorError, readable
from gossamer_lab.bench.brokers.measurement import BenchTarget, Measurement

PATH_SECONDS = 30.0
PROBE_SECONDS = 0.05
QUIET_SECONDS = 0.3


def across(target: BenchTarget, qos: int, pairs: int, burst: int, window: int) -> Measurement:
    groups = paired(target, target.last_address, "bench/across", qos, pairs, burst, window)
    await_paths(groups)
    return measure(groups, target)


def await_paths(groups: Sequence[LoadGroup]) -> None:
    """Until what is published arrives: a chain takes a moment to learn what is wanted."""
    deadline = time.monotonic() + PATH_SECONDS
    for group in groups:
        publisher, subscriber = group.publisher.socket, group.subscribers[0].socket
        probe = mqtt.publish(group.topic, b"probe")
        publisher.sendall(probe)
        while not readable([subscriber], PROBE_SECONDS):
            if time.monotonic() > deadline:
                raise GeneratorError("nothing crosses the chain")
            publisher.sendall(probe)
    sockets = [group.subscribers[0].socket for group in groups]
    while ready := readable(sockets, QUIET_SECONDS):
        for subscriber in ready:
            if not subscriber.recv(READ_SIZE):
                raise GeneratorError("the broker closed a connection during set-up")


def at_qos_0(target: BenchTarget) -> Measurement:
    return across(target, 0, 1, BURST, BURST_WINDOW)


def at_qos_1(target: BenchTarget) -> Measurement:
    return across(target, 1, PAIRS, PAIR_BURST, PAIR_WINDOW)


def at_qos_2(target: BenchTarget) -> Measurement:
    return across(target, 2, PAIRS, PAIR_BURST, PAIR_WINDOW)
