"""How much one operator subscription may ask of the broker, each limit with its reason."""

from typing import Final

# A chain is written by hand or by a small program; the longest sensible one is under 200.
MAX_CHAIN_CHARACTERS: Final = 1024
MAX_OPERATORS: Final = 16

# Rules as a broker writes them for others: numbers may come out longer than they were sent, and
# what covers two chains may have rules of both.
MAX_PREDICATE_CHARACTERS: Final = 2 * MAX_CHAIN_CHARACTERS

# `a;b/c;d` reads every combination, and each is one entry of the subscription tree.
MAX_LISTED_TOPICS: Final = 10_000

# And this many bytes together: one long level beside a list is repeated for each name of it.
MAX_LISTED_BYTES: Final = 1 << 20

# What a topic costs in a state beside its name: its value, its place in tables and heaps, a result.
TOPIC_BYTES: Final = 640
# A bucket of a quantile's sketch.
BUCKET_BYTES: Final = 112

# The longest text that `repr` gives for a double has 24 characters; the rest is padding.
MAX_NUMBER_BYTES: Final = 128

# Parsing takes about 10 ms for each MiB of JSON, and the event loop waits for it.
MAX_JSON_BYTES: Final = 1 << 20

# The longest name that fits MQTT's two-byte length.
MAX_TOPIC_BYTES: Final = 65_535


def topic_bytes(topic: str) -> int:
    """What a state pays for one: names and results hold it more than once."""
    return TOPIC_BYTES + (4 if topic.isascii() else 12) * len(topic)


class OperatorLimits:
    """Limits that an installation may want to change."""

    def __init__(
        self,
        topics: int = 100_000,
        last_results: int = 10_000,
        last_result_bytes: int = 65_536,
        pending_jobs: int = 1_000,
    ) -> None:
        self.topics = topics  # that one operator keeps values of
        self.last_results = last_results  # kept per operator for those who subscribe later
        self.last_result_bytes = last_result_bytes  # a larger payload is not kept
        self.pending_jobs = pending_jobs  # publications that wait for a processor
