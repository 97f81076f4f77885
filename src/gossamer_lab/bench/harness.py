"""Runs scenarios against brokers, one at a time, each on a core of its own.

Brokers take turns within a scenario, so that what else happens on the machine meets them alike;
of several repeats the median counts.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path
from typing import Annotated, NamedTuple, Protocol

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from gossamer_lab.bench.load.client import GeneratorError
from gossamer_lab.bench.load.scenarios import LoadScenario
from gossamer_lab.bench.measurement import BenchTarget, Measurement

# Options that benchmarks share.
Quick = Annotated[bool, typer.Option("--quick", help="Short runs.")]
Repeat = Annotated[int, typer.Option(min=1, help="Runs of each; the median counts.")]
Out = Annotated[Path, typer.Option(help="Folder for the results.")]
Beside = Annotated[
    list[Path] | None,
    typer.Option(metavar="FOLDER", help="The broker of another checkout of Gossamer too."),
]

GENERATOR_TIMEOUT_SECONDS = 400
# 5,000 connections, with room to spare, on both sides.
DESCRIPTORS = 12_000

Results = dict[str, dict[str, Measurement]]  # by scenario and broker


class RunLength(NamedTuple):
    """Measured seconds of a run, and the share of the clients or messages that it has."""

    seconds: float = 4.0
    scale: float = 1.0


FULL = RunLength()


class Brokers(Protocol):
    """What can be put under load: a broker, or a chain of them."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    def running(self, cores: set[int]) -> AbstractContextManager[BenchTarget]: ...


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
    """In a process of its own, so that this one's memory and threads are not in the way."""
    command = [sys.executable, "-m", "gossamer_lab.bench.load.scenarios", scenario.name]
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
    scenario: LoadScenario, brokers: Brokers, seconds: float, scale: float = 1.0
) -> Measurement:
    broker_cores, generator_cores = split_cores()
    try:
        with brokers.running(broker_cores) as running:
            target = replace(running, seconds=seconds, scale=scale)
            return run_generator(scenario, target, generator_cores)
    except (GeneratorError, OSError) as problem:
        return Measurement(failure=str(problem))


def median(runs: Sequence[Measurement]) -> Measurement:
    """The middle run: by throughput, or by latency or memory where those are what is measured."""

    def order(run: Measurement) -> float:
        if run.p99_microseconds is not None:
            return run.p99_microseconds
        if run.bytes_per_connection is not None:
            return run.bytes_per_connection
        return -run.out_per_second()

    good = [run for run in runs if not run.failure] or list(runs)
    return sorted(good, key=order)[len(good) // 2]


def run_all(
    scenarios: Sequence[LoadScenario],
    brokers: Sequence[Brokers],
    *,
    seconds: float,
    scale: float = 1.0,
    repeat: int = 1,
    report: Callable[[str], None],
) -> Results:
    """All measurements; ``report`` hears of each run as it starts."""
    allow_many_connections()
    results: Results = {}
    for scenario in scenarios:
        runs: dict[str, list[Measurement]] = {one.name: [] for one in brokers}
        for _ in range(repeat):
            for one in brokers:
                report(f"{scenario.title}: {one.name}")
                runs[one.name].append(measure_once(scenario, one, seconds, scale))
        results[scenario.name] = {name: median(found) for name, found in runs.items()}
    return results


def run_with_bar(
    console: Console,
    scenarios: Sequence[LoadScenario],
    brokers: Sequence[Brokers],
    length: RunLength,
    repeat: int,
) -> Results:
    """The same, with a bar for who watches."""
    with Progress(
        TextColumn("{task.description:48}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=console,
        transient=True,
        # The bar shares a core with the generator.
        refresh_per_second=1,
    ) as progress:
        task = progress.add_task("", total=len(scenarios) * len(brokers) * repeat)
        begun = count()
        return run_all(
            scenarios,
            brokers,
            seconds=length.seconds,
            scale=length.scale,
            repeat=repeat,
            report=lambda text: progress.update(task, completed=next(begun), description=text),
        )
