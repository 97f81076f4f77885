"""What the wire raises: one error that carries the reason code the standard names for it."""


class ProtocolError(Exception):
    """The peer broke the protocol; `reason` is the MQTT 5 code to answer with, `text` says how."""

    def __init__(self, reason: int, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text
