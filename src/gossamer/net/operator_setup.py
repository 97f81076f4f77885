"""The operator engine that a configuration describes."""

from collections.abc import Iterable

from gossamer.net.config import Config
from gossamer.net.config.plus import windows_of
from gossamer.net.offload_setup import offload_rule, usable_kinds
from gossamer.plus.engine import Engine
from gossamer.plus.limits import OperatorLimits
from gossamer.plus.operators.kinds import ProcessorKind
from gossamer.plus.vocabulary import Vocabulary


def engine_of(config: Config, processors: Iterable[ProcessorKind] = ()) -> Engine:
    """With the processors that are installed here. Raises ConfigError."""
    plus = config.plus
    rule = offload_rule(config)
    vocabulary = Vocabulary(windows_of(plus.windows), usable_kinds(processors, rule))
    limits = OperatorLimits(topics=plus.topics, last_results=plus.last_results)
    engine = Engine(vocabulary, plus.ttl, limits)
    engine.offloads = rule
    return engine
