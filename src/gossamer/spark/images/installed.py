"""Which processors there are: those of the caller, and those that are installed here.

Whether one can run is asked where it runs: models are looked for on the executors.
"""

from collections.abc import Mapping

from gossamer.plus.vocabulary import ProcessorKind, Vocabulary
from gossamer.plus.windows import Window
from gossamer.spark.images.processors import Processor
from gossamer.vision.registry import installed_places


def known_processors(own: Mapping[str, Processor] | None) -> dict[str, Processor]:
    """By keyword; the caller's own come first."""
    return {**installed_places(), **(own or {})}


def vocabulary(windows: tuple[Window, ...], processors: Mapping[str, Processor]) -> Vocabulary:
    return Vocabulary(windows, [ProcessorKind(keyword, "", "value") for keyword in processors])
