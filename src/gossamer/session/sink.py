"""The seam between a connection of the core and the shell that moves its bytes."""

from mypy_extensions import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class Sink:
    """The shell's end of a connection: it moves bytes and knows nothing of MQTT."""

    def write(self, data: bytes) -> None:
        """Sends, or buffers what the socket does not take now."""

    def close(self) -> None:
        """Closes once everything written has been sent."""

    def abort(self) -> None:
        """Closes now; what was not sent is lost."""

    def welcomed(self) -> None:
        """The client has logged in."""

    def unsent_bytes(self) -> int:
        """Of what it was given to write."""
        return 0

    def unread_bytes(self) -> int:
        """Of what it has received, and not handed on."""
        return 0

    def takes_turns(self) -> bool:
        """Whether it comes back for what is more than one turn; or else all is done at once."""
        return False

    def settle(self) -> None:
        """The client is back on another connection: if this one is lost, all that was received is
        handled now."""

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...
