"""What the room raises: for numbers that make no shape, and for GLP that is not taken."""

from gossamer.wire.reasons import IMPLEMENTATION_SPECIFIC_ERROR, PAYLOAD_FORMAT_INVALID


class ShapeError(ValueError):
    """The numbers do not describe an area; the text says why."""


class GlpError(ValueError):
    """A GLP entry is refused. `reason` is the MQTT 5 code, `text` names the entry and says why.

    0x99 is for text that is not GLP; 0x83 for well-formed GLP that the broker will not take (too
    much of it, or at odds with what it already has).
    """

    def __init__(self, reason: int, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text


def malformed(entry: str, why: str) -> GlpError:
    return GlpError(PAYLOAD_FORMAT_INVALID, f"{entry}: {why}")


def refused(entry: str, why: str) -> GlpError:
    return GlpError(IMPLEMENTATION_SPECIFIC_ERROR, f"{entry}: {why}")
