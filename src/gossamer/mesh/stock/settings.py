"""A stock broker as it is configured: how it is reached, and what may cross."""

from typing import Final

from gossamer.topics.meeting import meet
from gossamer.wire.packets import V5

# How often it is asked for a sign of life, at most; its silence for half as long again is its end.
STOCK_KEEP_ALIVE: Final = 15
# Its session outlives an outage of ours by this long (5.0; in 3.1.1 it has no end).
STOCK_SESSION_SECONDS: Final = 7 * 86_400


class StockSettings:
    """Brokers of a mesh that give it the same `name` mean the same stock broker."""

    def __init__(
        self,
        name: str,
        version: int = V5,
        imports: tuple[str, ...] = ("#",),
        exports: tuple[str, ...] = (),
        qos: int = 2,
    ) -> None:
        self.name = name
        self.version = version
        self.imports = imports  # the most that is ever subscribed there
        self.exports = exports  # what is published there
        self.qos = qos  # the highest that crosses
        self.username: str | None = None
        self.password: bytes | None = None


def echoes(settings: StockSettings) -> str:
    """What would come back from a broker that cannot leave out our own messages; "" if nothing.

    3.1.1 has no No Local and no properties: nothing tells an echo from a message.
    """
    if settings.version != V5:
        for exported in settings.exports:
            for imported in settings.imports:
                both = meet(exported, imported)
                if both is not None:
                    return both
    return ""
