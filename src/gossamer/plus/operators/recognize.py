"""`$RECOGNIZE` recognizes objects in an image: how many there are of each kind."""

from gossamer.plus.operators.kinds import ProcessorKind

RECOGNIZE = ProcessorKind(
    "RECOGNIZE",
    "recognizes objects in an image: how many there are of each kind",
    "json",
    place="gossamer.vision.image_processors:Recognize",
)
