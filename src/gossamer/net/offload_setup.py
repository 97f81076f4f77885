"""From `[plus.offload]` to the engine's rule."""

from collections.abc import Iterable

from gossamer.net.config import Config
from gossamer.net.config.plus import windows_of
from gossamer.net.config.section import ConfigError
from gossamer.plus.offload import OffloadRule
from gossamer.plus.operators.kinds import ProcessorKind
from gossamer.plus.registry import AGGREGATES
from gossamer.plus.vocabulary import Vocabulary
from gossamer.vision.registry import installed_places


def offload_rule(config: Config) -> OffloadRule | None:
    """None if the broker computes everything itself. Raises ConfigError."""
    section = config.plus.offload
    if section is None:
        return None
    if config.archive is None:
        raise ConfigError(["plus.offload: whoever answers reads the archive; add [archive]"])
    temporal = Vocabulary(windows_of(config.plus.windows)).temporal
    known = {*AGGREGATES, *temporal, *installed_places()}
    problems = [
        f"plus.offload.operators: {keyword!r} is no aggregate and no processor"
        for keyword in section.operators
        if keyword not in known
    ]
    if problems:
        raise ConfigError(problems)
    return OffloadRule(list(section.operators), section.windows, list(config.archive.filters))


def usable_kinds(kinds: Iterable[ProcessorKind], rule: OffloadRule | None) -> list[ProcessorKind]:
    """What others look at needs no models here."""
    return [
        ProcessorKind(kind.keyword, kind.description, kind.returns)
        if rule is not None and kind.keyword in rule.keywords
        else kind
        for kind in kinds
    ]
