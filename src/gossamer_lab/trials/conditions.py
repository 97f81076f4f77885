"""What a subscription with rules or areas wants: surely, and perhaps.

Areas change and clients move while messages travel. Between the moment in which a client says
something and the moment in which it knows that its broker has heard it, both what was and what will
be may hold. A publication is required if it is wanted whatever held in its round, allowed if it is
wanted by anything that may hold after it was published, and forbidden otherwise.
"""

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Generic, TypeVar

from gossamer.geo.areas import NO_AREAS
from gossamer.geo.earth import Point
from gossamer.geo.geolocation import Located, read_located
from gossamer.geo.glp import POSITION
from gossamer.geo.interest import Interest
from gossamer.geo.overlap import delivers
from gossamer.plus.grammar import is_operator_filter, parse
from gossamer.plus.rules import PASSES, checks_of, judge_all
from gossamer.plus.vocabulary import Vocabulary
from gossamer_lab.trials.publications import Entries, TrialPublication
from gossamer_lab.trials.windows import LAST_VALUES, is_window_filter

NOWHERE: Final = ""  # the position of a client that has none
# For a subscription that is interested in the place where its client is, wherever that is.
HERE: Final[tuple[str, str]] = (POSITION, "here")

_OPEN: Final = 1 << 62
_VOCABULARY: Final = Vocabulary()
Value = TypeVar("Value")
AskedAreas = tuple[tuple[str, str], ...]


class Possible(Generic[Value]):
    """What may hold of what was told, by the number of publications that there were by then."""

    def __init__(self, first: Value) -> None:
        self._until: dict[Value, int] = {first: _OPEN}
        self.in_round: set[Value] = {first}  # at any time since it began

    def told(self, value: Value) -> None:
        self._until[value] = _OPEN
        self.in_round.add(value)

    def answered(self, value: Value, publications: int) -> None:
        """Nothing else holds for what is published from now on."""
        for other, until in self._until.items():
            if other != value and until == _OPEN:
                self._until[other] = publications

    def forgotten(self) -> None:
        """Nobody knows which of all that was ever told is remembered."""
        for value in self._until:
            self.told(value)

    def begin_round(self) -> None:
        self.in_round = {value for value, until in self._until.items() if until == _OPEN}

    def after(self, publication: TrialPublication) -> list[Value]:
        """What may hold when it is delivered. A will is published some time after it was left."""
        if publication.is_will:
            return list(self._until)
        return [value for value, until in self._until.items() if publication.index < until]


class Condition:
    """What there is beside the filter. `reads` is the plain filter, `prefix` what stands before
    the topic of what is delivered."""

    reads = ""
    prefix = ""

    def requires(self, publication: TrialPublication) -> bool:
        """Whether nothing that held in this round kept it out."""
        raise NotImplementedError

    def allows(self, publication: TrialPublication) -> bool:
        """Whether anything that may hold since it was published lets it through."""
        raise NotImplementedError

    def asked(self, where: Entries) -> None:
        """The client subscribes once more, to this."""

    def answered(self, where: Entries, publications: int) -> None:
        """And knows that it has it."""

    def begin_round(self) -> None:
        """The mesh is at rest."""


class RuleCondition(Condition):
    """Rules never change: others are another filter."""

    def __init__(self, filter: str) -> None:
        plan = parse(filter, _VOCABULARY)
        (self.reads,) = plan.reads
        self.prefix = plan.chain + "/"
        self._checks = checks_of(plan.outer)

    def requires(self, publication: TrialPublication) -> bool:
        return judge_all(self._checks, publication.content) == PASSES

    def allows(self, publication: TrialPublication) -> bool:
        return self.requires(publication)


class PlaceCondition(Condition):
    """Areas, and where the client is that they follow."""

    def __init__(self, filter: str, where: Entries, whereabouts: Possible[str]) -> None:
        self.reads = filter
        self._areas: Possible[AskedAreas] = Possible(tuple(where))
        self._whereabouts = whereabouts

    def requires(self, publication: TrialPublication) -> bool:
        return all(
            wants(publication, areas, position)
            for areas in self._areas.in_round
            for position in self._positions(areas, self._whereabouts.in_round)
        )

    def allows(self, publication: TrialPublication) -> bool:
        return any(
            wants(publication, areas, position)
            for areas in self._areas.after(publication)
            for position in self._positions(areas, self._whereabouts.after(publication))
        )

    def asked(self, where: Entries) -> None:
        self._areas.told(tuple(where))

    def answered(self, where: Entries, publications: int) -> None:
        self._areas.answered(tuple(where), publications)

    def begin_round(self) -> None:
        self._areas.begin_round()

    def _positions(self, areas: AskedAreas, positions: Iterable[str]) -> Iterable[str]:
        return positions if located_by(areas).areas.follows or HERE in areas else (NOWHERE,)


class WindowCondition(Condition):
    """Nothing that is published is delivered; results are (`trials/window_oracle.py`)."""

    def __init__(self, filter: str) -> None:
        chain, _, self.reads = filter.partition("/")
        self.prefix = chain + "/"

    def is_of_last_values(self) -> bool:
        """`trials/value_oracle.py` judges it."""
        return self.prefix == LAST_VALUES + "/"

    def requires(self, publication: TrialPublication) -> bool:
        return False

    def allows(self, publication: TrialPublication) -> bool:
        return False


def condition_of(filter: str, where: Entries, whereabouts: Possible[str]) -> Condition | None:
    """None for a plain subscription."""
    if is_window_filter(filter):
        return WindowCondition(filter)
    if is_operator_filter(filter):
        return RuleCondition(filter)
    return PlaceCondition(filter, where, whereabouts) if where else None


@lru_cache(maxsize=256)
def located_by(areas: AskedAreas) -> Located:
    """As a broker reads what was sent."""
    sent = [entry for entry in areas if entry != HERE]
    located = read_located(sent)
    return Located(NO_AREAS, []) if located is None else located


def wants(publication: TrialPublication, areas: AskedAreas, position: str) -> bool:
    """The match rule, for a client that is there."""
    return delivers(publication.place, _interest(areas, position), -math.inf)


@lru_cache(maxsize=256)
def _interest(areas: AskedAreas, position: str) -> Interest:
    return Interest(None, located_by(areas).areas, point_of(position), 0.0)


def point_of(position: str) -> Point | None:
    """A position as GLP writes it."""
    if position == NOWHERE:
        return None
    latitude, longitude = position.split(";")
    return Point(float(latitude), float(longitude))
