"""The operator engine that a configuration describes."""

from collections.abc import Iterable

from gossamer.net.config.plus import Plus, windows_of
from gossamer.plus.engine import Engine
from gossamer.plus.limits import Limits
from gossamer.plus.vocabulary import ProcessorKind, Vocabulary


def engine_of(plus: Plus, processors: Iterable[ProcessorKind] = ()) -> Engine:
    """With the processors that are installed here."""
    vocabulary = Vocabulary(windows_of(plus.windows), processors)
    limits = Limits(topics=plus.topics, last_results=plus.last_results)
    return Engine(vocabulary, plus.ttl, limits)
