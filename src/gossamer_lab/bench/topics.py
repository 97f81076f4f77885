"""The room `topics` measured: covers of many filters, and matching among a million.

Plain functions that return rows; `run` prints them. Time is CPU time: the work is in memory only,
and a busy machine shall not show. Nothing here asserts a speed.
"""

import gc
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from time import process_time, thread_time_ns
from typing import NamedTuple

from gossamer.topics.cover import Cover
from gossamer.topics.tree import FilterTree, TreeEntry
from gossamer_lab.bench.topic_sets import (
    HOSTILE,
    REALISTIC,
    FilterSet,
    sensor_topic,
    with_wildcards,
)

SEED = 20
PAGE = 4096


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
    topics_a_second: float
    found: int


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
        times[len(times) // 2],
        times[len(times) * 99 // 100],
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
    before = _resident()
    matcher = MATCHERS[name]()
    for filter in filters:
        matcher.put(filter)
    gc.collect()
    megabytes = (_resident() - before) / 1e6
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


def _resident() -> int:
    """Bytes of memory this process holds, 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
    except OSError:
        return 0


def run(filters: int = 100_000, matched: int = 1_000_000, searches: int = 200_000) -> None:
    """Measure everything and print the two tables."""
    print("Cover: µs of CPU for one add or remove")
    print(f"{'set':32}{'filters':>9}{'build':>9}{'median':>9}{'p99':>9}{'worst':>10}")
    for cover in cover_rows(filters):
        print(
            f"{cover.name:32}{cover.filters:9}{cover.build:9.1f}"
            f"{cover.median:9.1f}{cover.p99:9.1f}{cover.worst:10.1f}"
        )
    print("\nMatching: topics a second of CPU")
    print(f"{'tree':32}{'filters':>9}{'MB':>9}{'topics/s':>12}{'found':>10}")
    for match in match_rows(matched, searches):
        print(
            f"{match.name:32}{match.filters:9}{match.megabytes:9.0f}"
            f"{match.topics_a_second:12,.0f}{match.found:10}"
        )
