"""``gossamer bench topics``: covers of many filters, and matching among a million.

Time is CPU time: the work is in memory only, and a busy machine shall not show.
"""

import gc
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from random import Random
from time import process_time, thread_time_ns
from typing import Annotated, NamedTuple

import typer

from gossamer.topics.cover import Cover
from gossamer.topics.filter_tree import FilterTree, TreeEntry
from gossamer_lab import tables
from gossamer_lab.bench.processes import resident_bytes
from gossamer_lab.bench.topic_sets import (
    HOSTILE,
    REALISTIC,
    FilterSet,
    sensor_topic,
    with_wildcards,
)
from gossamer_lab.quantiles import quantile

SEED = 20

COVER_COLUMNS = {
    "set": "{.name}",
    "filters": "{.filters:,}",
    "build": "{.build:.1f}",
    "median": "{.median:.1f}",
    "p99": "{.p99:.1f}",
    "worst": "{.worst:.1f}",
}
MATCH_COLUMNS = {
    "tree": "{.name}",
    "filters": "{.filters:,}",
    "MB": "{.megabytes:.0f}",
    "topics/s": "{.rate:,.0f}",
    "found": "{.found:,}",
}


class CoverRow(NamedTuple):
    """Microseconds of CPU for one step, add or remove, among `filters` standing ones."""

    name: str
    filters: int
    build: float
    median: float
    p99: float
    worst: float


class MatchRow(NamedTuple):
    name: str
    filters: int
    megabytes: float
    rate: float
    found: int


def topics(
    filters: Annotated[
        int, typer.Option(min=1000, help="Filters that stand in each measured cover.")
    ] = 100_000,
    matched: Annotated[
        int, typer.Option(min=1000, help="Filters that topics are matched against.")
    ] = 1_000_000,
    searches: Annotated[int, typer.Option(min=1000, help="Topics to match.")] = 200_000,
) -> None:
    """Measure adding to and removing from covers, and matching beside two plain ways of it."""
    console = tables.console()
    with console.status("covers"):
        covers = list(cover_rows(filters))
    console.print(tables.records("Cover: µs of CPU for one add or remove", COVER_COLUMNS, covers))
    with console.status("matching"):
        matches = list(match_rows(matched, searches))
    console.print(tables.records("Matching: topics a second of CPU", MATCH_COLUMNS, matches))


def measure_cover(name: str, filters: FilterSet) -> CoverRow:
    """Build the cover, then time every step of the toggled and rotated filters."""
    cover = Cover()
    begin = process_time()
    for filter in filters.standing:
        cover.add(filter)
    build = (process_time() - begin) / max(1, len(filters.standing)) * 1e6
    times = []
    for act, filter in _steps(cover, filters):
        begin_ns = thread_time_ns()
        act(filter)
        times.append((thread_time_ns() - begin_ns) / 1000)
    times.sort()
    return CoverRow(
        name,
        len(filters.standing),
        build,
        quantile(times, 0.5),
        quantile(times, 0.99),
        times[-1],
    )


def _steps(cover: Cover, filters: FilterSet) -> Iterator[tuple[Callable[[str], object], str]]:
    for filter in filters.toggled:
        yield cover.add, filter
        yield cover.remove, filter
    last = ""
    for number, filter in enumerate(filters.rotated):
        if number < 2:  # What the first rounds move stays where later ones need it.
            cover.add(filter)
        else:
            yield cover.add, filter
        if number == 1:
            cover.remove(last)
        elif last:
            yield cover.remove, last
        last = filter


def cover_rows(size: int) -> Iterator[CoverRow]:
    for make in (*REALISTIC, *HOSTILE):
        kind = "realistic" if make in REALISTIC else "hostile"
        yield measure_cover(f"{kind}: {make.__name__}", make(size, Random(SEED)))


class NestedDicts:
    """The tree of dicts everyone writes first: what FilterTree is measured beside."""

    def __init__(self) -> None:
        self._root: dict[str, dict] = {}  # type: ignore[type-arg]

    def put(self, filter: str) -> None:
        node = self._root
        for level in filter.split("/"):
            node = node.setdefault(level, {})
        node["\0"] = filter  # type: ignore[assignment]

    def match(self, topic: str) -> list[str]:
        levels = topic.split("/")
        found: list[str] = []

        def visit(node: dict, at: int) -> None:  # type: ignore[type-arg]
            if "#" in node:
                found.append(node["#"]["\0"])
            if at == len(levels):
                if "\0" in node:
                    found.append(node["\0"])
                return
            for level in (levels[at], "+"):
                if level in node:
                    visit(node[level], at + 1)

        visit(self._root, 0)
        return found


class VariantSet:
    """A set of filters, asked for every way to write wildcards into the topic."""

    def __init__(self) -> None:
        self._filters: set[str] = set()

    def put(self, filter: str) -> None:
        self._filters.add(filter)

    def match(self, topic: str) -> list[str]:
        prefixes = [""]
        found: list[str] = []
        for level in topic.split("/"):
            found += [prefix + "#" for prefix in prefixes if prefix + "#" in self._filters]
            prefixes = [prefix + part + "/" for prefix in prefixes for part in (level, "+")]
        for prefix in prefixes:
            found += [f for f in (prefix[:-1], prefix + "#") if f in self._filters]
        return found


class Tree:
    """FilterTree as the baselines are called."""

    def __init__(self) -> None:
        self._tree = FilterTree()

    def put(self, filter: str) -> None:
        self._tree.put(TreeEntry(filter))

    def match(self, topic: str) -> list[TreeEntry]:
        return self._tree.match(topic)


MATCHERS: dict[str, Callable[[], Tree | NestedDicts | VariantSet]] = {
    "FilterTree": Tree,
    "nested dicts": NestedDicts,
    "set of filters, every variant": VariantSet,
}


def measure_match(name: str, size: int, searches: int) -> MatchRow:
    """Put the filters in, then look topics up; memory is what the filters' strings do not need."""
    random = Random(SEED)
    filters = list({with_wildcards(sensor_topic(random), random): None for _ in range(size)})
    topics = [sensor_topic(random) for _ in range(searches)]
    gc.collect()
    before = resident_bytes(os.getpid())
    matcher = MATCHERS[name]()
    for filter in filters:
        matcher.put(filter)
    gc.collect()
    megabytes = (resident_bytes(os.getpid()) - before) / 1e6
    found = 0
    begin = process_time()
    for topic in topics:
        found += len(matcher.match(topic))
    rate = searches / (process_time() - begin)
    return MatchRow(name, len(filters), megabytes, rate, found)


def match_rows(size: int, searches: int) -> Iterator[MatchRow]:
    """The same filters and topics through each, in a process of its own to tell its memory."""
    with ProcessPoolExecutor(max_workers=1, max_tasks_per_child=1) as processes:
        for name in MATCHERS:
            yield processes.submit(measure_match, name, size, searches).result()
