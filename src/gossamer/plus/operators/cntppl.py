"""`$CNTPPL` counts people in an image."""

from gossamer.plus.operators.kinds import ProcessorKind

CNTPPL = ProcessorKind(
    "CNTPPL",
    "counts people in an image",
    "value",
    place="gossamer.vision.image_processors:CountPeople",
)
