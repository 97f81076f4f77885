"""Who subscribes after values were published: what happens before and after, and what came."""

from typing import Any

from hypothesis import strategies as st

from gossamer.plus.operators.windows import SlidingWindow, Window
from gossamer.plus.registry import DEFAULT_WINDOWS
from gossamer.plus.vocabulary import Vocabulary
from tests.support.memory import MemoryClient

WINDOWS = Vocabulary((*DEFAULT_WINDOWS, Window("MINUTE", 60.0), SlidingWindow("SLIDE", 60.0, 20.0)))
NEVER = 2  # retain handling: no result at once

Step = tuple[Any, ...]
PUBLICATIONS = st.tuples(
    st.just("publish"),
    st.sampled_from("abc"),
    st.integers(-3, 9),
    st.sampled_from([0, 0, 20, 100]),
)
WAITS = st.tuples(st.just("wait"), st.sampled_from([0.0, 1.0, 17.0, 61.0, 950.0]))
CLOCKS = st.tuples(st.just("clock"), st.sampled_from([-40.0, 0.0, 45.0]))
STEPS = st.lists(PUBLICATIONS | WAITS | CLOCKS, max_size=25)


def received(client: MemoryClient) -> list[tuple[str, str]]:
    return [(message.topic, message.payload.decode()) for message in client.messages()]
