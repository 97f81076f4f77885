"""What a client's caller may have to catch; all are ConnectionErrors with a reason code."""

from gossamer.wire.properties import Properties


class Refused(ConnectionError):
    """The broker said no to a CONNECT or a PUBLISH; `reason` is its code."""

    def __init__(self, what: str, reason: int, text: str = "") -> None:
        super().__init__(f"{what} refused with 0x{reason:02x}" + (f": {text}" if text else ""))
        self.reason = reason
        self.text = text


class Disconnected(ConnectionError):
    """The connection is gone; `reason` is what the broker's DISCONNECT said, 0 if nothing."""

    def __init__(self, reason: int = 0, text: str = "connection lost") -> None:
        super().__init__(f"{text} (0x{reason:02x})" if reason else text)
        self.reason = reason
        self.text = text


class Unanswered(Disconnected):
    """The other side closed the connection without a word to the CONNECT."""


def said(properties: Properties | None) -> str:
    """What the broker gave as its reason, empty if nothing."""
    return (properties.reason_string or "") if properties is not None else ""
