"""The retained messages that a client is owed, by subscription, before they enter its queue."""

from gossamer.session.message import Message


class Owed:
    """`filters` wait in the order in which they were subscribed; the first one may be under way.

    A filter is owed once however often it is subscribed, so this is never larger than the session's
    table of subscriptions; `messages` are what the one under way found, by reference.
    """

    __slots__ = ("at", "filters", "messages", "under_way")

    def __init__(self) -> None:
        self.filters: dict[str, None] = {}
        self.under_way = ""  # the filter whose messages these are
        self.messages: list[Message] = []
        self.at = 0  # those before it are in the queue, or sent

    def add(self, filter: str) -> None:
        """Owed from the beginning, behind the others."""
        self.remove(filter)
        self.filters[filter] = None

    def remove(self, filter: str) -> None:
        self.filters.pop(filter, None)
        if self.under_way == filter:
            self.begin("", [])

    def begin(self, filter: str, messages: list[Message]) -> None:
        self.under_way = filter
        self.messages = messages
        self.at = 0
