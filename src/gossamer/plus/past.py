"""What an operator would have if it had been there before, made from what was published then.

It is the operator itself, in an engine of its own and driven by the times of the rows: nothing is
written twice. A row costs microseconds, so this is work for a thread beside the broker's.
"""

from gossamer.plus.encodings import NO_ENCODINGS, Encodings
from gossamer.plus.engine import Engine
from gossamer.plus.limits import OperatorLimits
from gossamer.plus.operators.aggregate import Aggregate
from gossamer.plus.operators.kinds import Options
from gossamer.plus.plan import OperatorPlan
from gossamer.plus.publication import Publication
from gossamer.plus.spatial import SpatialState
from gossamer.plus.temporal import TemporalState
from gossamer.plus.vocabulary import Vocabulary
from gossamer.wire.properties import Properties


class PastValue:
    """The last value of a topic, which is valid until then by the wall clock."""

    __slots__ = ("expires_at", "topic", "value")

    def __init__(self, topic: str, value: float, expires_at: float) -> None:
        self.topic = topic
        self.value = value
        self.expires_at = expires_at


class Past:
    """Rows go in, in their order. `latest` is the last time that a row may have: one from before
    the clock was set back counts as if it had come then."""

    def __init__(
        self,
        plan: OperatorPlan,
        vocabulary: Vocabulary,
        ttl: float,
        topics: int,
        latest: float,
        encodings: Encodings = NO_ENCODINGS,
    ) -> None:
        self._engine = Engine(vocabulary, ttl, OperatorLimits(topics=topics))
        self._encodings = encodings
        self._state = self._engine.subscribe(plan, Options())
        self._latest = latest
        self.rows = 0

    def take(
        self,
        topic: str,
        payload: bytes,
        time: float,
        expiry: int | None,
        content_type: str | None,
        user: list[tuple[str, str]],
    ) -> None:
        """One publication; the times are the wall clock's."""
        self.rows += 1
        properties: Properties | None = None
        if user or content_type is not None:
            properties = Properties()
            properties.user = user
            properties.content_type = content_type
        now = min(time, self._latest)
        expires_at = time + expiry if expiry is not None else 0.0
        encoding = self._encodings.find(topic, content_type)
        publication = Publication(topic, payload, expires_at, properties, encoding)
        self._state.accept(publication, now)

    def counts(self) -> dict[str, Aggregate]:
        """Of a window, by topic; once."""
        assert isinstance(self._state, TemporalState)
        return self._state.close()

    def values(self, now: float) -> list[PastValue]:
        """Of an aggregate over topics, what is valid at that time of the wall clock, in the order
        in which it came."""
        assert isinstance(self._state, SpatialState)
        return [
            PastValue(topic, value.value, value.expires_at)
            for topic, value in self._state.valid_values(now)
        ]
