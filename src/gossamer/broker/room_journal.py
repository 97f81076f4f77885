"""Retained messages that are kept in a room of the store, apart from those of clients."""

from gossamer.session.journal import Journal
from gossamer.session.message import Message
from gossamer.session.message_bytes import packed_message


class RoomJournal(Journal):
    """For a table of retained messages whose topics are the room's keys."""

    def __init__(self, journal: Journal, room: str) -> None:
        super().__init__()
        self._journal = journal
        self._room = room

    def retained_saved(self, message: Message) -> None:
        self._journal.keep(self._room, message.topic, packed_message(message))

    def retained_removed(self, topic: str) -> None:
        self._journal.drop(self._room, topic)
