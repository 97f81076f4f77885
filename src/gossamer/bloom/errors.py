"""What the Bloom room raises when it is handed something it cannot use."""


class SummaryError(ValueError):
    """A summary from the wire that was refused; nothing changed, and the text says why."""
