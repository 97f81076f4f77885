"""What an operator says of itself: a class for each kind of operator.

The grammar, the broker, `$SYS/capabilities` and with it the console's form, and the compiler for
Spark all read this, so that an operator is described in one place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from gossamer.plus.operators.aggregate import Aggregate

if TYPE_CHECKING:
    from gossamer.plus.plan import Field
    from gossamer.plus.sequence import Step, TopicStep

NumberTest = Callable[[float, float], bool]
TextTest = Callable[[str, str], bool]

# Whatever begins with it is an option of an operator, known to this version or not.
OPTION_PREFIX: Final = "plus_"


class OperatorKind:
    """`keyword` is as subscriptions spell it, without the `$`."""

    def __init__(self, keyword: str, description: str) -> None:
        self.keyword = keyword
        self.description = description


class RuleKind(OperatorKind):
    """A condition: `$GT;30`. One without a text comparison takes numbers only."""

    def __init__(
        self, keyword: str, description: str, numbers: NumberTest | None, texts: TextTest | None
    ) -> None:
        super().__init__(keyword, description)
        self.numbers = numbers
        self.texts = texts


class SequenceKind(OperatorKind):
    """Follows each topic by itself: `$CHANGED;0.5`. `returns` is "payload" where it passes what it
    takes, "value" where it makes a number of it.

    `read` makes a number of its first argument ("" if there is none) and raises ValueError for one
    that is not allowed; `make` has the name of its parts, the field that it reads, and that number.
    """

    def __init__(
        self,
        keyword: str,
        description: str,
        returns: str,
        read: Callable[[str], float],
        make: Callable[[str, Field | None, float], TopicStep],
        has_field: bool = True,
        starts_retained: bool = True,
    ) -> None:
        super().__init__(keyword, description)
        self.returns = returns
        self.read = read
        self.make = make
        self.has_field = has_field
        self.starts_retained = starts_retained  # it may begin with what is retained


class GroupKind(OperatorKind):
    """Gives the publications of a topic the topics of their groups; its argument is the field."""

    def __init__(self, keyword: str, description: str, make: Callable[[Field], Step]) -> None:
        super().__init__(keyword, description)
        self.make = make


class AggregateKind(OperatorKind):
    """A function of many values: over time (`running`) and over topics (`moving`)."""

    def __init__(
        self,
        keyword: str,
        description: str,
        running: Callable[[], Aggregate],
        moving: Callable[[], Aggregate],
        write: Callable[[float], bytes],
    ) -> None:
        super().__init__(keyword, description)
        self.running = running
        self.moving = moving
        self.write = write  # the payload of a result


class ProcessorKind(OperatorKind):
    """Makes another payload of one, an image say. `returns` is "value" (a number) or "json".

    `trouble` says why it cannot be had here, and what to do about it; "" where it can. `place` is
    the class ("module:Class") of one that comes with the broker: workers load it, not this room.
    """

    def __init__(
        self, keyword: str, description: str, returns: str, trouble: str = "", place: str = ""
    ) -> None:
        super().__init__(keyword, description)
        self.returns = returns
        self.trouble = trouble
        self.place = place


class Options:
    """What a subscriber may set beside the filter; the defaults are of one that sets nothing."""

    __slots__ = ("every", "least", "names_participants")

    def __init__(
        self, names_participants: bool = False, every: float = 0.0, least: int = 0
    ) -> None:
        self.names_participants = names_participants  # RPT
        self.every = every  # seconds between two results of a spatial aggregate, at least
        self.least = least  # topics that take part in one, at least


class OptionKind(OperatorKind):
    """A User Property of a SUBSCRIBE, whose name is the keyword.

    `read` sets it in the options, and raises PlusError for a value that is not allowed.
    """

    def __init__(
        self, keyword: str, description: str, read: Callable[[Options, str], None]
    ) -> None:
        super().__init__(keyword, description)
        self.read = read
