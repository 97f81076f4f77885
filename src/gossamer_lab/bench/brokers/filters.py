"""Matching against 1,000,000 filters: each message is for one of them, seldom for the same."""

import random
import time

from gossamer_lab.bench.brokers.bursts import BURST, BURST_WINDOW, chunks
from gossamer_lab.bench.brokers.flow import LoadGroup, measure
from gossamer_lab.bench.brokers.link import BenchLink, GeneratorError, open_link, subscribe
from gossamer_lab.bench.brokers.measurement import BenchTarget, Measurement

FILTERS = 1_000_000
CLIENTS = 200
FILTERS_PER_PACKET = 500
MESSAGES = 50_000
SEED = 20

# A broker that needs longer than this to take the filters is not measured.
SET_UP_LIMIT_SECONDS = 120.0


def filter_of(number: int) -> str:
    """Half of the filters name one topic; the other half have a wildcard in the middle."""
    area, sensor = divmod(number, 1000)
    middle = "value" if number % 2 else "+"
    return f"bench/{area:04d}/{middle}/{sensor:03d}"


def topic_of(number: int) -> str:
    """The topic that matches filter ``number`` and no other."""
    area, sensor = divmod(number, 1000)
    return f"bench/{area:04d}/value/{sensor:03d}"


def million_filters(target: BenchTarget) -> Measurement:
    count = max(CLIENTS * FILTERS_PER_PACKET, target.scaled(FILTERS))
    share = count // CLIENTS
    began = time.perf_counter()
    subscribers: list[BenchLink] = []
    for client in range(CLIENTS):
        link = open_link(target.address, f"s{client}")
        own = range(client * share, (client + 1) * share)
        for first in range(own.start, own.stop, FILTERS_PER_PACKET):
            numbers = range(first, min(first + FILTERS_PER_PACKET, own.stop))
            subscribe(link, [filter_of(number) for number in numbers], 0)
            if time.perf_counter() - began > SET_UP_LIMIT_SECONDS:
                raise GeneratorError(
                    f"only {numbers.stop:,} filters in {SET_UP_LIMIT_SECONDS:.0f} s"
                )
        subscribers.append(link)
    set_up = time.perf_counter() - began
    choose = random.Random(SEED)
    topics = [topic_of(choose.randrange(share * CLIENTS)) for _ in range(MESSAGES)]
    publisher = open_link(target.address, "p")
    load = chunks(topics, BURST, 0, MESSAGES // BURST)
    group = LoadGroup(publisher, subscribers, load, BURST, BURST_WINDOW, 1, 0, topics[0])
    result = measure([group], target)
    result.set_up_seconds = set_up
    return result
