"""`$CNTMALE` counts males in an image, an estimate from visible faces."""

from typing import Final

from gossamer.plus.operators.kinds import ProcessorKind

CNTMALE: Final = ProcessorKind(
    "CNTMALE",
    "counts males in an image, an estimate from visible faces",
    "value",
    place="gossamer.vision.image_processors:CountMale",
)
