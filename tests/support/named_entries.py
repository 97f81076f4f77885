"""Entries for a tree of topic names."""

from gossamer.broker.retained_entry import RetainedEntry
from gossamer.budget.ledger import NOBODY
from gossamer.session.message import Message


def a_named_entry(name: str, number: int = 1) -> RetainedEntry:
    """The only ones that there are: compiled classes have no subclasses of ours."""
    message = Message(name, b"x", 0, True, None, 0.0, "", "")
    return RetainedEntry(number, 0, message, None, NOBODY, 0.0)
