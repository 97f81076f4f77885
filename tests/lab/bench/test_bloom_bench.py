"""The benchmark of the summaries: that its sides answer alike, and that it reports what it says."""

from gossamer.cli.main import run
from gossamer_lab.bench.bloom import (
    DELTA,
    MESSAGE,
    OURS,
    RBLOOM,
    RBLOOM_SHARED,
    ROUNDS,
    SET,
    SUMMARY,
    BloomBench,
    RbloomPrefixes,
    stable_hash,
)


def test_the_other_side_searches_rightly() -> None:
    filters = ["a/+/c", "b/#", "a/b", "+/x/+/z"]
    for hash_function in (None, stable_hash):
        side = RbloomPrefixes(filters, 1000, hash_function)
        for topic in ("a/q/c", "b", "b/c/d", "a/b", "q/x/q/z"):
            assert side.may_match(topic)
        for topic in ("a", "a/q", "q", "q/x/q", "a/q/d"):
            assert not side.may_match(topic)


def test_speed_and_memory_are_measured() -> None:
    bench = BloomBench(searches=400)
    rounds = list(bench.rounds())
    assert len(rounds) == ROUNDS
    assert set(rounds[-1]) == {OURS, RBLOOM, RBLOOM_SHARED}
    assert all(speed.searches_per_second > 0 for speed in rounds[-1].values())
    assert rounds[-1][OURS].wrong < 0.02
    assert 5 < bench.queries_per_search() < 8
    memory = bench.memory()
    assert memory[SET] > 20 * memory[SUMMARY]
    assert memory[DELTA] < 200 < memory[SUMMARY] < memory[MESSAGE]


def test_the_command(capsys) -> None:  # type: ignore[no-untyped-def]
    assert run(["bench", "bloom", "--searches", "80"]) == 0
    printed = capsys.readouterr().out
    assert "searches/s" in printed
    assert "Python set" in printed
