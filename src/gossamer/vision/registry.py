"""Every processor that is installed: those of `plus/registry.py`, and others' entry points."""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Final

from gossamer.plus.operators.kinds import ProcessorKind
from gossamer.plus.registry import PROCESSORS
from gossamer.plus.vocabulary import Vocabulary
from gossamer.vision.processor import Processor
from gossamer.vision.settings import WorkerSettings

logger = logging.getLogger("gossamer.vision")

GROUP: Final = "gossamer.processors"

BUILT_IN: Final = tuple(kind.place for kind in PROCESSORS)

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
    for place in (*BUILT_IN, *_places_of_others()):
        try:
            kind = _kind(load(place), settings)
            if vocabulary.knows(kind.keyword) or kind.keyword in kinds:
                raise ValueError(f"${kind.keyword} already means something else")
        except Exception as error:  # It is foreign code: whatever goes wrong, it must be named.
            logger.error("the processor %s cannot be used: %s", place, error or repr(error))
            continue
        kinds[kind.keyword] = kind
        if not kind.trouble:
            usable[kind.keyword] = place
    return Installed(tuple(kinds.values()), usable)


def installed_places() -> dict[str, str]:
    """ "module:Class" by keyword, whether it can be used on this machine or not."""
    found: dict[str, str] = {}
    for place in (*BUILT_IN, *_places_of_others()):
        try:
            found.setdefault(load(place).keyword, place)
        except Exception as error:  # It is foreign code: whatever goes wrong, it must be named.
            logger.error("the processor %s cannot be used: %s", place, error or repr(error))
    return found


def load(place: str) -> type[Processor]:
    """By "module:Class"."""
    module, _, name = place.partition(":")
    found = getattr(import_module(module), name)
    if not (isinstance(found, type) and issubclass(found, Processor)):
        raise TypeError(f"{place} is not a gossamer.vision.processor.Processor")
    return found


def _places_of_others() -> Sequence[str]:
    return sorted(point.value for point in entry_points(group=GROUP))


def _kind(processor: type[Processor], settings: WorkerSettings) -> ProcessorKind:
    if not _KEYWORD.fullmatch(processor.keyword):
        raise ValueError(f"{processor.keyword!r} is not a keyword: use capital letters and digits")
    if processor.returns not in _RETURNS:
        raise ValueError(f"returns must be one of {', '.join(_RETURNS)}")
    return ProcessorKind(
        processor.keyword, processor.description, processor.returns, processor.trouble(settings)
    )
