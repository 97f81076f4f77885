"""Hypothesis strategies for topics and filters over an alphabet small enough to collide."""

from hypothesis import strategies as st

LEVELS = ["a", "b", "", "$a", "abé"]


@st.composite
def _filters(draw: st.DrawFn, max_depth: int) -> str:
    levels = draw(st.lists(st.sampled_from([*LEVELS, "+", "+"]), min_size=1, max_size=max_depth))
    if draw(st.integers(0, 3)) == 0:
        levels[-1] = "#"
    return "/".join(levels) or "/"


def filters(max_depth: int = 5) -> st.SearchStrategy[str]:
    return _filters(max_depth)


def topics(max_depth: int = 5) -> st.SearchStrategy[str]:
    levels = st.lists(st.sampled_from(LEVELS), min_size=1, max_size=max_depth)
    return levels.map(lambda parts: "/".join(parts) or "/")
