"""`$CNTPPL` counts people in an image."""

from typing import Final

from gossamer.plus.operators.kinds import ProcessorKind

CNTPPL: Final = ProcessorKind(
    "CNTPPL",
    "counts people in an image",
    "value",
    place="gossamer.vision.image_processors:CountPeople",
)
