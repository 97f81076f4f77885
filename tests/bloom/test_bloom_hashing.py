"""Hashes are the same on every machine, differ between seeds, and do not confuse topics."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.bloom import TopicHasher
from gossamer.bloom.hashes import SCANNED_LEVELS


def prefix_hash(hasher: TopicHasher, filter: str) -> int:
    prefix = hasher.root
    for level in hasher.filter_levels(filter):
        prefix = hasher.extend(prefix, level)
    return int(prefix)


def test_the_hashes_are_fixed_for_ever() -> None:
    """Brokers of different versions and machines exchange bits: these numbers cannot change."""
    hasher = TopicHasher(b"a seed")
    assert hasher.seed_id == 1272564850
    assert prefix_hash(hasher, "building3/room1/temperature/°C") == 3983976943553051615
    assert prefix_hash(hasher, "building3/+/#") == 1755621569115348034


def test_every_hash_fits_62_bits() -> None:
    hasher = TopicHasher(b"wide")
    for text in ("", "a", "ÿ" * 9, "\U0010ffff" * 50, "x" * 7, "x" * 8):
        assert all(0 <= level < 1 << 62 for level in hasher.levels(text.encode()))
        assert 0 <= prefix_hash(hasher, text) < 1 << 62


def test_seeds_differ() -> None:
    one, another = TopicHasher(b"1"), TopicHasher(b"2")
    assert one.seed_id != another.seed_id
    assert prefix_hash(one, "a/b") != prefix_hash(another, "a/b")


def test_look_alikes_differ() -> None:
    hasher = TopicHasher(b"alike")
    texts = [
        "a",
        "/a",
        "a/",
        "a$",
        "$",
        "a/b",
        "ab",
        "b/a",
        "",
        "/",
        "//",
        "aa",
        "aaaaaaa",
        "+",
        "#",
    ]
    texts += ["a" * count for count in range(3, 30) if count != 7]
    assert len({prefix_hash(hasher, text) for text in texts}) == len(texts)


@given(st.lists(st.text("ab/", min_size=1, max_size=20), min_size=2, max_size=30, unique=True))
def test_different_topics_have_different_hashes(topics: list[str]) -> None:
    hasher = TopicHasher(b"different")
    assert len({prefix_hash(hasher, topic) for topic in topics}) == len(topics)


@given(st.text("ab/é", max_size=40))
def test_levels_hash_like_the_parts(topic: str) -> None:
    hasher = TopicHasher(b"parts")
    parts = [hasher.levels(part.encode())[0] for part in topic.split("/")]
    assert hasher.levels(topic.encode()) == parts
    assert hasher.scan(topic.encode()) == len(parts)
    assert [hasher.level(at) for at in range(len(parts))] == parts


def test_a_scan_stops_at_its_last_slot() -> None:
    hasher = TopicHasher(b"deep")
    assert hasher.scan(b"/" * (SCANNED_LEVELS - 1)) == SCANNED_LEVELS
    assert hasher.scan(b"/" * SCANNED_LEVELS) == SCANNED_LEVELS + 1
    assert hasher.scan(b"/" * 1000) == SCANNED_LEVELS + 1
