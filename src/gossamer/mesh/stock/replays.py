"""Retained messages that a stock broker sends because we subscribed, not because of news.

Nothing in MQTT tells them from live ones where the retain flag is kept as published. But a new
subscription brings one for a topic at most, soon, and before anything else of that topic: if that
one says what is known here, it is no news.
"""

from typing import Final

from gossamer.topics.matching import matches

# How long after a SUBSCRIBE its retained messages may come; a slow broker has many to send.
REPLAY_SECONDS: Final = 30.0


class _Window:
    __slots__ = ("filter", "seen", "until")

    def __init__(self, filter: str, until: float) -> None:
        self.filter = filter
        self.until = until
        self.seen: set[str] = set()


class Replays:
    """The subscriptions that were made a moment ago."""

    def __init__(self) -> None:
        self._windows: list[_Window] = []

    def subscribed(self, filter: str, now: float) -> None:
        self._windows.append(_Window(filter, now + REPLAY_SECONDS))

    def is_due(self, topic: str, now: float) -> bool:
        """Whether a retained message of this topic can be a replay; asked once for each."""
        if not self._windows:
            return False
        self._windows = [window for window in self._windows if window.until > now]
        is_first = False
        for window in self._windows:
            if topic not in window.seen and matches(window.filter, topic):
                window.seen.add(topic)
                is_first = True
        return is_first
