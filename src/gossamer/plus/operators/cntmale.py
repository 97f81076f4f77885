"""`$CNTMALE` counts males in an image, an estimate from visible faces."""

from gossamer.plus.operators.kinds import ProcessorKind

CNTMALE = ProcessorKind(
    "CNTMALE",
    "counts males in an image, an estimate from visible faces",
    "value",
    place="gossamer.vision.image_processors:CountMale",
)
