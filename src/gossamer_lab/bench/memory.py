"""``gossamer bench memory``: resident bytes for each thing that a broker holds.

Every thing is measured on a broker of its own: some of it first, which fills the pools and caches
that all share, and then the growth of resident memory by many more.
"""

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from gossamer.cli.errors import CommandError, WrongUse
from gossamer_lab import tables
from gossamer_lab.bench import harness, peers, report
from gossamer_lab.bench.load import state
from gossamer_lab.bench.load.client import GeneratorError
from gossamer_lab.bench.load.disturbances import OWN_TOPICS
from gossamer_lab.bench.measurement import BenchTarget
from gossamer_lab.bench.processes import resident_bytes

QUICK_SCALE: Final = 0.02
# Of what is measured, this share comes before the first reading.
FIRST_SHARE: Final = 0.05
# A store writes behind, and the last objects of a burst are let go.
SETTLE_SECONDS: Final = 1.0
QUEUED_EACH: Final = 4_000
LEGEND: Final = (
    "Resident bytes for each, medians over the runs; the empty broker in all. A retained message "
    "has 4 bytes on a topic of about 30, a queued one 100 bytes; a session is that of a client "
    "that is away, with one subscription. What the kernel keeps for a connection is not counted."
)


class Thing(NamedTuple):
    name: str
    amount: int
    # Makes so many of it, under a name; what is returned keeps them alive.
    fill: Callable[[state.Address, int, str], object]
    most: float | None = None  # bytes that are wanted of this broker
    there: Callable[[state.Address, int, str], int] | None = None  # how many it really holds


def queue_messages(address: state.Address, count: int, name: str) -> None:
    """Their few sessions are measured with them, at less than a byte for each message."""
    sessions = -(-count // QUEUED_EACH)
    state.leave_sessions(address, sessions, name)
    state.queue(address, sessions, -(-count // sessions), name)


EMPTY: Final = "empty broker"
THINGS: Final = (
    Thing("connection", 5_000, state.connect_crowd, 2_000),
    Thing("session", 20_000, state.leave_sessions, 2_000),
    Thing("retained message", 300_000, state.retain, 600, state.fetch_retained),
    Thing("queued message", 80_000, queue_messages, 400 + len(state.QUEUED_PAYLOAD)),
    Thing("subscription", 200_000, state.subscribe_many),
)
MOST_EMPTY: Final = 35_000_000
# All of this in one broker, beside its own topics.
TOGETHER: Final = (
    Thing("session", 100_000, state.leave_sessions),
    Thing("retained message", 1_000_000 - OWN_TOPICS, state.retain, None, state.fetch_retained),
)
MOST_TOGETHER: Final = 1_000_000_000


@dataclass
class MemoryRuns:
    """Of one broker: bytes by thing, one for each run, and what could not be measured."""

    found: dict[str, list[float]]
    failures: list[str]

    def middle(self, thing: str) -> float | None:
        return statistics.median(self.found[thing]) if self.found[thing] else None


def bytes_each(thing: Thing, brokers: harness.Brokers, scale: float) -> tuple[float, float]:
    """Of the thing, and of the empty broker; GeneratorError or OSError if it cannot be told."""
    cores, generator_cores = harness.split_cores()
    own_cores = os.sched_getaffinity(0)
    with brokers.running(cores) as running:
        os.sched_setaffinity(0, generator_cores)
        try:
            target = replace(running, scale=scale)
            count = target.scaled(thing.amount)
            empty = _settled(target)
            alive = [thing.fill(target.address, max(1, int(count * FIRST_SHARE)), "first")]
            before = _settled(target)
            alive.append(thing.fill(target.address, count, "plant"))
            after = _settled(target)
            if thing.there and (held := thing.there(target.address, count, "plant")) < count:
                raise GeneratorError(f"only {held:,} of {count:,} are there")
            alive.clear()
            return (after - before) / count, float(empty)
        finally:
            os.sched_setaffinity(0, own_cores)


def bytes_together(brokers: harness.Brokers, scale: float) -> int:
    """Of a broker that holds all of `TOGETHER`; GeneratorError or OSError if it cannot be told."""
    cores, generator_cores = harness.split_cores()
    own_cores = os.sched_getaffinity(0)
    with brokers.running(cores) as running:
        os.sched_setaffinity(0, generator_cores)
        try:
            target = replace(running, scale=scale)
            for thing in TOGETHER:
                thing.fill(target.address, target.scaled(thing.amount), "plant")
            resident = _settled(target)
            for thing in TOGETHER:
                count = target.scaled(thing.amount)
                if thing.there and (held := thing.there(target.address, count, "plant")) < count:
                    raise GeneratorError(f"only {held:,} of {count:,} are there")
            return resident
        finally:
            os.sched_setaffinity(0, own_cores)


def together(field: Sequence[peers.PeerBroker], scale: float, repeat: int) -> list[str]:
    """A line for each broker, and whether that is what is wanted of this one."""
    what = " and ".join(f"{max(1, int(one.amount * scale)):,} {one.name}s" for one in TOGETHER)
    said = []
    for one in field:
        try:
            found = statistics.median(bytes_together(one, scale) for _ in range(repeat))
        except (GeneratorError, OSError) as problem:
            said.append(f"{one.name}, {what}: not measured, {problem}.")
            continue
        line = f"{one.name}, {what} together: {found:,.0f} bytes resident."
        if one.name in ("gossamer", "gossamer on disk"):
            line += f" {'ok' if found < MOST_TOGETHER else 'MISSED'}: wanted {MOST_TOGETHER:,}."
        said.append(line)
    return said


def _settled(target: BenchTarget) -> int:
    time.sleep(SETTLE_SECONDS)
    return resident_bytes(target.pid)


def memory(
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only the broker of this name; may be repeated."),
    ] = None,
    beside: harness.Beside = None,
    all_together: Annotated[
        bool,
        typer.Option("--together", help="Only a million retained messages with 100,000 sessions."),
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A fiftieth of everything.")] = False,
    repeat: harness.Repeat = 1,
    out: harness.Out = Path("out/memory"),
) -> None:
    """Measure resident bytes for each connection, session, message and subscription."""
    try:
        field = contenders(beside or ())
    except ValueError as problem:
        raise WrongUse(str(problem)) from None
    names = [one.name for one in field]
    field = [one for one in field if not only or one.name in only]
    if not field:
        raise WrongUse(f"none of --only can be measured here: choose from {', '.join(names)}")
    harness.allow_many_connections()
    console = tables.console()
    if all_together:
        said = together(field, QUICK_SCALE if quick else 1.0, repeat)
        said.append(f"{report.machine()}; {report.versions(field)}")
        for text in said:
            console.print(text)
        files = report.save("memory-together", out, "\n\n".join(said) + "\n", said=said)
        report.say_where(console, files)
        return
    results = {one.name: MemoryRuns({n: [] for n in columns()}, []) for one in field}
    for thing in THINGS:
        console.print(f"{thing.name} …", style="dim")
        for _ in range(repeat):
            for one in field:
                _add(results[one.name], thing, one, QUICK_SCALE if quick else 1.0)
    rows = [row(name, runs) for name, runs in results.items()]
    heads = ["broker", *columns()]
    said = [LEGEND, *verdicts(results)]
    said += [f"Not measured: {name}, {why}." for name, it in results.items() for why in it.failures]
    said.append(f"{report.machine()}; {report.versions(field)}")
    console.print(tables.table("", heads, rows))
    for text in said:
        console.print(text)
    lines = [*tables.markdown_table(heads, rows), *(line for text in said for line in ("", text))]
    found = {name: runs.found for name, runs in results.items()}
    files = report.save("memory", out, "\n".join(lines) + "\n", results=found)
    report.say_where(console, files)
    if not any(values for by_thing in found.values() for values in by_thing.values()):
        raise CommandError("nothing could be measured; the notes say why")


def contenders(folders: Sequence[Path]) -> list[peers.PeerBroker]:
    """ValueError for a folder that is no checkout."""
    found = [peers.gossamer(), replace(peers.durable_gossamer(), name="gossamer on disk")]
    for folder in folders:
        there = peers.checkout(folder, durable=True)
        found += [peers.checkout(folder), replace(there, name=f"{there.name} on disk")]
    return [*found, *peers.present(peers.mosquitto())]


def columns() -> list[str]:
    return [EMPTY, *(thing.name for thing in THINGS)]


def _add(runs: MemoryRuns, thing: Thing, brokers: harness.Brokers, scale: float) -> None:
    try:
        each, empty = bytes_each(thing, brokers, scale)
    except (GeneratorError, OSError) as problem:
        runs.failures.append(f"{thing.name}: {problem}")
        return
    runs.found[thing.name].append(each)
    runs.found[EMPTY].append(empty)


def row(name: str, runs: MemoryRuns) -> list[str]:
    return [name, *(report.number(runs.middle(thing)) for thing in columns())]


def verdicts(results: dict[str, MemoryRuns]) -> list[str]:
    """What this broker needs more for than is wanted; nothing where it was not measured."""
    own = {name: results[name] for name in ("gossamer", "gossamer on disk") if name in results}
    wanted = {EMPTY: MOST_EMPTY} | {one.name: one.most for one in THINGS if one.most}
    over = [
        f"{thing} of {name} ({each:,.0f}, wanted {most:,.0f})"
        for name, runs in own.items()
        for thing, most in wanted.items()
        if (each := runs.middle(thing)) and each > most
    ]
    return [f"Over what is wanted: {', '.join(over) or 'none'}."] if own else []
