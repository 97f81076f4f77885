"""What enhanced authentication (MQTT 5, section 4.12) asks of a client."""

from typing import Protocol


class Authenticator(Protocol):
    """One authentication exchange; `first` starts it anew."""

    method: str

    def first(self) -> bytes | None:
        """Authentication data for CONNECT, or for the AUTH that re-authenticates."""

    def respond(self, challenge: bytes) -> bytes:
        """The answer to the broker's challenge. ValueError if the challenge cannot be trusted."""

    def verify(self, final: bytes) -> None:
        """The broker's last word, empty if it had none. ValueError if it is not that broker."""
