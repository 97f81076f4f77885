"""``gossamer bench bloom``: searches a second in summaries, beside rbloom, and their memory.

The workload is the papers' default without a match, on topics that were never seen before. The
other side is what one would write first: the prefix search over strings, on the Bloom filter of
the package `rbloom` (Rust). Its default hash is Python's, which differs between processes, so the
bits mean nothing to another broker; the package's manual then asks for a hash of one's own. Both
are measured, in CPU time, and take turns on slices of the topics.
"""

import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from statistics import median
from typing import Annotated

import typer
from rich.progress import track

from gossamer.bloom import HybridIndex, RemoteSummary, Summary, TopicHasher, hybrid
from gossamer.bloom.topic_index import DEFAULT_ERROR_RATE
from gossamer.cli.errors import CommandError
from gossamer_lab import tables
from gossamer_lab.bench.bloom_workload import Parameters, Preparation, draw_filters, draw_topic

OURS = "gossamer"
RBLOOM = "rbloom, for one process"
RBLOOM_SHARED = "rbloom, to be shared"

SET = "filters in a Python set"
SUMMARY = "summary"
MESSAGE = "summary as a message"
DELTA = "message for one more filter"

ROUNDS = 8
FULL_SEARCHES = 400_000
QUICK_SEARCHES = 40_000

_SPARE = 8  # Elements, so that one more filter does not make the advertiser grow.
_END = "\0"  # MQTT forbids it in topics, so no level can spell the end of a filter.


@dataclass(frozen=True)
class Speed:
    """One side: the median of its rounds, and the part of its answers that were a wrong yes."""

    searches_per_second: float
    wrong: float


def bloom(
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the searches.")] = False,
    searches: Annotated[
        int | None, typer.Option(min=1, help="Topics to search, each once.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws the filters and topics.")] = 7,
) -> None:
    """Measure searches a second beside the same search on rbloom, and the memory beside a set."""
    console = tables.console()
    try:
        measured = BloomBench(searches or (QUICK_SEARCHES if quick else FULL_SEARCHES), seed)
    except ModuleNotFoundError as problem:
        raise CommandError(
            f"{problem.name} is missing: pip install 'gossamer-lab[bench]'"
        ) from None
    speeds: dict[str, Speed] = {}
    for latest in track(measured.rounds(), "searching", ROUNDS, console=console, transient=True):
        speeds = latest
    console.print(
        tables.table(
            "Searches without a match, topics not seen before",
            ("", "searches/s of CPU", "gossamer is", "wrong yes"),
            (_speed_row(side, speed, speeds[OURS]) for side, speed in speeds.items()),
        )
    )
    state = "compiled" if is_compiled() else "NOT compiled (run `make compile`)"
    console.print(f"{measured.queries_per_search():.1f} look-ups a search; the core is {state}")
    memory = measured.memory()
    console.print(
        tables.table(
            f"Memory of {len(measured.filters):,} filters",
            ("", "bytes", "of the set"),
            ((name, f"{size:,}", f"1/{memory[SET] / size:,.1f}") for name, size in memory.items()),
        )
    )


def _speed_row(side: str, speed: Speed, ours: Speed) -> tuple[str, ...]:
    faster = ours.searches_per_second / speed.searches_per_second
    times = "" if side == OURS else f"{faster:.1f}× as fast"
    return side, f"{speed.searches_per_second:,.0f}", times, f"{speed.wrong:.3%}"


def stable_hash(text: str) -> int:
    """A hash as the manual of rbloom asks for: 128 bits, signed."""
    return int.from_bytes(sha256(text.encode()).digest()[:16], "big", signed=True)


class RbloomPrefixes:
    """The prefix search as one would write it first."""

    def __init__(
        self, filters: list[str], elements: int, hash_function: Callable[[str], int] | None = None
    ) -> None:
        import rbloom

        self._bloom = rbloom.Bloom(elements, DEFAULT_ERROR_RATE, hash_function)
        for filter in filters:
            levels = filter.split("/")
            for count in range(1, len(levels)):
                self._bloom.add("/".join(levels[:count]))
            self._bloom.add(filter + _END)
            if levels[-1] == "#":
                self._bloom.add("/".join(levels[:-1]) + _END)

    def may_match(self, topic: str) -> bool:
        return self._search("", topic.split("/"), 0)

    def _search(self, before: str, levels: list[str], at: int) -> bool:
        if before + "#" + _END in self._bloom:
            return True
        for level in ("+", levels[at]):
            prefix = before + level
            if at == len(levels) - 1:
                if prefix + _END in self._bloom:
                    return True
            elif prefix in self._bloom and self._search(prefix + "/", levels, at + 1):
                return True
        return False


class BloomBench:
    """One draw of subscriptions, in every form that is compared."""

    def __init__(self, searches: int, seed: int = 7) -> None:
        rng = random.Random(seed)
        levels = Parameters().levels
        per_round = max(1, searches // ROUNDS)
        self._rounds = [[draw_topic(rng, levels) for _ in range(per_round)] for _ in range(ROUNDS)]
        # Random levels of ten letters never meet, so no filter that has one matches a topic.
        self.filters = draw_filters(rng, Parameters(), Preparation.WITHOUT_WILDCARD_ONLY, [])
        hasher = TopicHasher(b"bench")
        counted = HybridIndex(hasher)
        for filter in self.filters:
            counted.add(filter)
        self.elements = counted.element_count()
        self._advertiser = Summary(hasher, counted.load() + _SPARE)
        for filter in self.filters:
            self._advertiser.add(filter)
        self._message = self._advertiser.full()
        self._listener = RemoteSummary(hasher)
        self._listener.apply(self._message)
        self._sides = {
            OURS: self._listener.may_match,
            RBLOOM: RbloomPrefixes(self.filters, self.elements).may_match,
            RBLOOM_SHARED: RbloomPrefixes(self.filters, self.elements, stable_hash).may_match,
        }

    def rounds(self) -> Iterator[dict[str, Speed]]:
        """After each round, every side as far as it is measured."""
        rates: dict[str, list[float]] = {side: [] for side in self._sides}
        wrong = dict.fromkeys(self._sides, 0)
        asked = 0
        for topics in self._rounds:
            asked += len(topics)
            for side, may_match in self._sides.items():
                rate, matches = _searches_per_second(may_match, topics)
                rates[side].append(rate)
                wrong[side] += matches
            yield {side: Speed(median(rates[side]), wrong[side] / asked) for side in rates}

    def queries_per_search(self) -> float:
        """The look-ups that our search made, on average, in all rounds."""
        return self._listener.queries() / sum(len(topics) for topics in self._rounds)

    def memory(self) -> dict[str, int]:
        """Bytes of each form of the filters."""
        held = set(self.filters)
        self._advertiser.add("one/more/+/filter")
        return {
            SET: sys.getsizeof(held) + sum(sys.getsizeof(filter) for filter in held),
            SUMMARY: self._listener.size_in_bytes(),
            MESSAGE: len(self._message),
            DELTA: len(self._advertiser.delta()),
        }


def is_compiled() -> bool:
    return not str(hybrid.__file__).endswith(".py")


def _searches_per_second(may_match: Callable[[str], bool], topics: list[str]) -> tuple[float, int]:
    matches = 0
    start = time.process_time()
    for topic in topics:
        if may_match(topic):
            matches += 1
    return len(topics) / (time.process_time() - start), matches
