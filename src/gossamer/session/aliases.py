"""Topics that a client knows by number on this connection [MQTT-3.3.2-7]."""


class TopicAliases:
    """First come, first served: a number once given keeps its topic."""

    __slots__ = ("_most", "_numbers")

    def __init__(self, most: int) -> None:
        self._most = most  # the client's Topic Alias Maximum
        self._numbers: dict[str, int] = {}

    def number_of(self, topic: str) -> int:
        """0 if the client knows no number for the topic."""
        return self._numbers.get(topic, 0)

    def free_number(self) -> int:
        """0 if all are given [MQTT-3.3.2-11]."""
        used = len(self._numbers)
        return used + 1 if used < self._most else 0

    def introduce(self, topic: str, number: int) -> None:
        """The client is being told."""
        self._numbers[topic] = number
