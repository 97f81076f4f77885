"""A bench for operators: subscriptions by their text, publications by topic and text."""

from gossamer.plus.engine import Engine
from gossamer.plus.grammar import read_options
from gossamer.plus.limits import OperatorLimits
from gossamer.plus.operators.kinds import Options, ProcessorKind
from gossamer.plus.publication import Publication
from gossamer.plus.registry import DEFAULT_WINDOWS
from gossamer.plus.state import OperatorResult, OperatorState
from gossamer.plus.vocabulary import Vocabulary
from gossamer.topics.names import matches
from gossamer.wire.properties import Properties

PROCESSORS = (
    ProcessorKind("CNTPPL", "counts people in an image", "value"),
    ProcessorKind("CNTMALE", "counts males in an image", "value"),
    ProcessorKind("CNTFEMALE", "counts females in an image", "value"),
    ProcessorKind("RECOGNIZE", "recognizes objects in an image", "json"),
)
VOCABULARY = Vocabulary(DEFAULT_WINDOWS, PROCESSORS)

Delivery = tuple[str, str]


class Bench:
    """Delivers to the states what matches, as a broker would, and collects what they send."""

    def __init__(
        self, *filters: str, now: float = 0.0, limits: OperatorLimits | None = None
    ) -> None:
        self.engine = Engine(VOCABULARY, limits=limits)
        self.engine.services.saves = True
        self.now = now
        self.states: list[OperatorState] = [self.subscribe(filter) for filter in filters]

    def subscribe(self, filter: str, user: list[tuple[str, str]] | None = None) -> OperatorState:
        options = read_options(user) if user else Options()
        return self.engine.subscribe(self.engine.parse(filter), options)

    def publish(
        self,
        topic: str,
        payload: str | bytes | float,
        *,
        expiry: float = 0.0,
        user: list[tuple[str, str]] | None = None,
    ) -> list[Delivery]:
        raw = payload if isinstance(payload, bytes) else str(payload).encode()
        properties = Properties()
        properties.user = user or []
        expires_at = self.now + expiry if expiry else 0.0
        publication = Publication(topic, raw, expires_at, properties)
        results: list[OperatorResult] = []
        for state in self.engine.states.values():
            if any(matches(read, topic) for read in state.plan.reads):
                results += state.accept(publication, self.now)
        return deliveries(results)

    def advance(self, now: float) -> list[Delivery]:
        self.now = now
        return deliveries([result for _, result in self.engine.tick(now)])

    def answer(self, answers: dict[str, bytes | None]) -> list[Delivery]:
        """Runs every waiting job, with a fixed answer for each processor."""
        results: list[OperatorResult] = []
        for job in self.engine.take_jobs():
            answered = self.engine.processed(job, answers[job.processor], self.now)
            results += [result for _, result in answered]
        return deliveries(results)


def deliveries(results: list[OperatorResult]) -> list[Delivery]:
    return [(result.topic, result.payload.decode()) for result in results]
