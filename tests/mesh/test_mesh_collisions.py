"""Of the connections between two brokers exactly one stands, in whatever order bytes arrive."""

from random import Random

import pytest

from tests.support.collisions import Action, Pair

# Who dials whom, one word a cable; `a` is the first by name, and decides.
SHAPES = (
    ("ab", "ba"),
    ("ab", "ab"),
    ("ba", "ba"),
)
WIDE = (
    ("ab", "ba", "ab"),
    ("ba", "ab", "ba"),
    ("ab", "ab", "ab"),
    ("ba", "ba", "ba"),
)


def played(cables: tuple[str, ...], most_dials: int, path: tuple[Action, ...]) -> Pair:
    pair = Pair(cables, most_dials)
    for action in path:
        pair.act(action)
    return pair


@pytest.mark.parametrize("cables", SHAPES, ids="-".join)
def test_one_stands_after_every_order_of_bytes_and_dials(cables: tuple[str, ...]) -> None:
    """Every state that two brokers can get into without a loss, each cable dialled twice."""
    seen: set[object] = set()
    paths: list[tuple[Action, ...]] = [()]
    while paths:
        path = paths.pop()
        pair = played(cables, 2, path)
        picture = pair.picture()
        if picture in seen:
            continue
        seen.add(picture)
        paths += [(*path, action) for action in pair.actions()]
        pair.drain()
        assert len(pair.standing()) == (1 if path else 0), path
        assert pair.open_ends() == (2 if path else 0), path
        # What stood once was given up for nothing.
        assert pair.stood == pair.standing(), path
    assert len(seen) > 100


@pytest.mark.parametrize("cables", SHAPES + WIDE, ids="-".join)
def test_one_stands_after_any_losses(cables: tuple[str, ...]) -> None:
    """Cables are cut, and each end notices in its own time, or never; then they are whole."""
    for seed in range(150):
        random = Random(f"{cables} {seed}")
        pair = Pair(cables, 1_000)
        for _ in range(random.randrange(60)):
            if random.random() < 0.1:
                _harm(pair, random)
            else:
                pair.act(random.choice(pair.actions() or [("dial", 0)]))
        _mend(pair, random)
        assert len(pair.standing()) == 1, seed
        assert pair.open_ends() == 2, seed


def _harm(pair: Pair, random: Random) -> None:
    calls = [call for calls in pair.calls for call in calls if not call.near.is_deaf]
    if not calls:
        return
    call = random.choice(calls)
    kind = random.randrange(4)
    call.silence()
    if kind in (0, 1) and not call.near.is_closed:
        call.lose_near()
    if kind in (0, 2) and not call.far.is_closed:
        call.lose_far()
    pair.flush()


def _mend(pair: Pair, random: Random) -> None:
    """A loss that nobody told is noticed by its silence. Everybody dials as often as it can."""
    for _ in range(80):
        moves = pair.actions()
        for _ in range(200):
            if not moves:
                break
            pair.act(random.choice(moves))
            moves = pair.moves()
        for node in pair.nodes.values():
            node.wait(0.4)
        pair.flush()
    pair.drain()


def test_a_neighbour_that_never_answers_is_given_up() -> None:
    """Or its silence would keep every other road to it closed."""
    pair = Pair(("ab", "ba"), 10)
    pair.act(("dial", 0))
    pair.act(("there", 0))
    pair.act(("back", 0))
    pair.calls[0][0].silence()  # with the proof of `a` on it
    pair.act(("dial", 1))
    pair.drain()
    assert pair.standing() == []
    for node in pair.nodes.values():
        node.wait(10.5)
    assert "no response" in pair.calls[0][0].dial.failure
    pair.act(("dial", 1))
    pair.drain()
    assert len(pair.standing()) == 1


def test_what_is_over_leaves_no_timer() -> None:
    pair = Pair(("ab",), 1_000)
    timers = pair.nodes["a"].broker.core.timers
    before = len(timers)
    for _ in range(20):
        pair.act(("dial", 0))
        pair.calls[0][-1].lose_near()
        pair.calls[0][-1].lose_far()
    assert len(timers) == before
