"""Every processor that is installed: those of `plus/registry.py`, and others' entry points."""

import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Final, TypeVar

from gossamer.plugins import entry_points
from gossamer.plus.operators.kinds import ProcessorKind
from gossamer.plus.registry import PROCESSORS
from gossamer.plus.vocabulary import Vocabulary
from gossamer.vision.processor import Processor
from gossamer.vision.settings import WorkerSettings

logger = logging.getLogger("gossamer.vision")

GROUP: Final = "gossamer.processors"

BUILT_IN: Final = tuple(kind.place for kind in PROCESSORS)

T = TypeVar("T")

_KEYWORD: Final = re.compile(r"[A-Z][A-Z0-9]*")
_RETURNS: Final = ("value", "json")


@dataclass(frozen=True)
class Installed:
    """`kinds` are for the vocabulary, `usable` are the classes (by keyword) for the workers."""

    kinds: tuple[ProcessorKind, ...]
    usable: dict[str, str]  # keyword → "module:Class"


def find_processors(vocabulary: Vocabulary, settings: WorkerSettings) -> Installed:
    """Those whose keyword `vocabulary` does not know yet. One that is bad is told and left out."""
    kinds: dict[str, ProcessorKind] = {}
    usable: dict[str, str] = {}

    def judge(processor: type[Processor]) -> ProcessorKind:
        kind = _kind(processor, settings)
        if vocabulary.knows(kind.keyword) or kind.keyword in kinds:
            raise ValueError(f"${kind.keyword} already means something else")
        return kind

    for place, kind in _judged(judge):
        kinds[kind.keyword] = kind
        if not kind.trouble:
            usable[kind.keyword] = place
    return Installed(tuple(kinds.values()), usable)


def installed_places() -> dict[str, str]:
    """ "module:Class" by keyword, whether it can be used on this machine or not."""
    found: dict[str, str] = {}
    for place, keyword in _judged(lambda processor: processor.keyword):
        found.setdefault(keyword, place)
    return found


def _judged(judge: Callable[[type[Processor]], T]) -> Iterator[tuple[str, T]]:
    """Where each processor is, and what is said of it."""
    others = sorted(point.value for point in entry_points(group=GROUP))
    for place in (*BUILT_IN, *others):
        try:
            said = judge(load(place))
        except Exception as error:  # It is foreign code: whatever goes wrong, it must be named.
            logger.error("the processor %s cannot be used: %s", place, error or repr(error))
            continue
        yield place, said


def load(place: str) -> type[Processor]:
    """By "module:Class"."""
    module, _, name = place.partition(":")
    found = getattr(import_module(module), name)
    if not (isinstance(found, type) and issubclass(found, Processor)):
        raise TypeError(f"{place} is not a gossamer.vision.processor.Processor")
    return found


def _kind(processor: type[Processor], settings: WorkerSettings) -> ProcessorKind:
    if not _KEYWORD.fullmatch(processor.keyword):
        raise ValueError(f"{processor.keyword!r} is not a keyword: use capital letters and digits")
    if processor.returns not in _RETURNS:
        raise ValueError(f"returns must be one of {', '.join(_RETURNS)}")
    return ProcessorKind(
        processor.keyword, processor.description, processor.returns, processor.trouble(settings)
    )
