"""Runs every scenario against every broker, one at a time, each on a core of its own.

Brokers take turns within a scenario, so that what else happens on the machine meets them alike;
of several repeats the median counts.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict

from gossamer_lab.bench.brokers.link import GeneratorError
from gossamer_lab.bench.brokers.measurement import BenchTarget, Measurement
from gossamer_lab.bench.brokers.peers import PeerBroker, RunningPeer
from gossamer_lab.bench.brokers.scenarios import LoadScenario

GENERATOR_TIMEOUT_SECONDS = 400
# 5,000 connections, with room to spare, on both sides.
DESCRIPTORS = 12_000

Results = dict[str, dict[str, Measurement]]


def split_cores() -> tuple[set[int], set[int]]:
    """The broker's core and the generator's; the same one on a machine that has only one."""
    cores = sorted(os.sched_getaffinity(0))
    return {cores[0]}, {cores[-1]}


def allow_many_connections() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def run_generator(scenario: LoadScenario, target: BenchTarget, cores: set[int]) -> Measurement:
    command = [sys.executable, "-m", "gossamer_lab.bench.brokers.generator", scenario.name]
    process = subprocess.Popen(
        [*command, json.dumps(asdict(target))],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.sched_setaffinity(process.pid, cores)
    try:
        out, errors = process.communicate(timeout=GENERATOR_TIMEOUT_SECONDS)
    except BaseException as problem:
        process.kill()
        process.communicate()
        if isinstance(problem, subprocess.TimeoutExpired):
            return Measurement(failure=f"no result after {GENERATOR_TIMEOUT_SECONDS} s")
        raise
    if process.returncode != 0:
        return Measurement(failure=errors.decode(errors="replace").strip().splitlines()[-1])
    return Measurement(**json.loads(out))


def measure_once(
    scenario: LoadScenario, peer: PeerBroker, seconds: float, scale: float
) -> Measurement:
    broker_cores, generator_cores = split_cores()
    try:
        with RunningPeer(peer, broker_cores) as running:
            target = BenchTarget(running.host, running.port, running.pid, seconds, scale)
            return run_generator(scenario, target, generator_cores)
    except (GeneratorError, OSError) as problem:
        return Measurement(failure=str(problem))


def median(runs: Sequence[Measurement]) -> Measurement:
    """The middle run: by throughput, or by latency or memory where those are what is measured."""

    def order(run: Measurement) -> tuple[bool, float]:
        if run.p99_microseconds is not None:
            return bool(run.failure), run.p99_microseconds
        if run.bytes_per_connection is not None:
            return bool(run.failure), run.bytes_per_connection
        return bool(run.failure), -run.out_per_second()

    good = [run for run in runs if not run.failure] or list(runs)
    return sorted(good, key=order)[len(good) // 2]


def run_all(
    scenarios: Sequence[LoadScenario],
    brokers: Sequence[PeerBroker],
    *,
    seconds: float,
    scale: float,
    repeat: int,
    report: Callable[[LoadScenario, PeerBroker], None],
) -> Results:
    """All measurements, by scenario and broker name; ``report`` hears of each run as it starts."""
    allow_many_connections()
    results: Results = {}
    for scenario in scenarios:
        runs: dict[str, list[Measurement]] = {broker.name: [] for broker in brokers}
        for _ in range(repeat):
            for broker in brokers:
                report(scenario, broker)
                runs[broker.name].append(measure_once(scenario, broker, seconds, scale))
        results[scenario.name] = {name: median(found) for name, found in runs.items()}
    return results
