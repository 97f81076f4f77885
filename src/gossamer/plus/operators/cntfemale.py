"""`$CNTFEMALE` counts females in an image, an estimate from visible faces."""

from gossamer.plus.operators.kinds import ProcessorKind

CNTFEMALE = ProcessorKind(
    "CNTFEMALE",
    "counts females in an image, an estimate from visible faces",
    "value",
    place="gossamer.vision.image_processors:CountFemale",
)
