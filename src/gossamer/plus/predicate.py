"""The rules of one subscription as one predicate: what passes, and what follows from what.

A publication is judged as `$GT;30$LT;50` judges it. One predicate implies another if whatever
passes the first surely passes the second; "no" may also mean that it is not known. The hull of many
is a predicate that each of them implies. Rules are written in one spelling, so that the same rules
are the same text on every broker.

A rule sees three kinds of values, and each is followed by itself. Finite numbers: comparisons look
at their size, `$CONTAINS` and comparisons with a text at their spelling. Numbers that no double can
hold: only their spelling is ever judged. Other texts: comparisons of sizes never pass, and `$EQ;30`
and `$NEQ;30` compare texts. What is no text either passes no rule.
"""

import math
from collections.abc import Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.plus.grammar import parse_rules, spelled
from gossamer.plus.limits import MAX_OPERATORS, MAX_PREDICATE_CHARACTERS
from gossamer.plus.plan import Field, RuleNode
from gossamer.plus.publication import Publication
from gossamer.plus.registry import RULES
from gossamer.plus.rules import PASSES, Check, checks_of, judge_all
from gossamer.plus.values import read_number

EQ: Final = "EQ"
NEQ: Final = "NEQ"
CONTAINS: Final = "CONTAINS"

# What the spelling of a number is made of: in a payload, and as a field of a document.
_OF_PAYLOAD: Final = frozenset(" \t\n\r+-.0123456789Ee")
_OF_FIELD: Final = frozenset("+-.0123456789e")
_INFINITE_FIELDS: Final = ("Infinity", "-Infinity")

_EXACT: Final = 1e15  # integers below it are written without an exponent or a point


@mypyc_attr(acyclic=True)
class _Texts:
    """Conditions on one text."""

    __slots__ = ("contained", "differs", "equals", "impossible")

    def __init__(self) -> None:
        self.equals: str | None = None
        self.differs: list[str] = []
        self.contained: list[str] = []
        self.impossible = False

    def add(self, keyword: str, operand: str) -> None:
        if keyword == EQ:
            self.impossible = self.impossible or self.equals not in (None, operand)
            self.equals = operand
        elif keyword == NEQ:
            self.differs.append(operand)
        elif keyword == CONTAINS:
            self.contained.append(operand)
        equals = self.equals
        if equals is not None:
            if equals in self.differs:
                self.impossible = True
            for part in self.contained:
                if part not in equals:
                    self.impossible = True

    def imply(self, keyword: str, operand: str) -> bool:
        if self.equals is not None:
            test = RULES[keyword].texts
            return test is not None and test(self.equals, operand)
        if keyword == NEQ:
            return operand in self.differs or any(part not in operand for part in self.contained)
        if keyword == CONTAINS:
            return operand == "" or any(operand in part for part in self.contained)
        return False

    def spell(self, characters: frozenset[str]) -> bool:
        """Whether a text of these characters may satisfy them."""
        for part in self.contained:
            if not characters.issuperset(part):
                return False
        return not self.impossible and (self.equals is None or characters.issuperset(self.equals))


@mypyc_attr(acyclic=True)
class _Conditions:
    """The rules on one field (or on the whole payload), as what each kind of value has to be.

    `finite`, `infinite` and `other` say which kinds may pass at all.
    """

    __slots__ = (
        "finite",
        "high",
        "holes",
        "infinite",
        "known",
        "low",
        "of_numbers",
        "of_others",
        "other",
        "whole",
    )

    def __init__(self, whole: bool) -> None:
        self.whole = whole
        self.known: list[str] = []
        self.low = -math.inf
        self.high = math.inf
        self.holes: list[float] = []
        self.of_numbers = _Texts()  # of how they are spelled
        self.of_others = _Texts()
        self.finite = True
        self.infinite = True
        self.other = True

    def add(self, rule: RuleNode) -> None:
        """`close` has to follow the last of them."""
        self.known.append(spelled(rule))
        if not _compares_numbers(rule):
            self.of_numbers.add(rule.keyword, rule.operand)
            self.of_others.add(rule.keyword, rule.operand)
            return
        assert rule.number is not None
        self.infinite = False
        self._narrow(rule.keyword, rule.number)
        if RULES[rule.keyword].texts is None:
            self.other = False
        elif not self.whole:
            self.of_others.add(rule.keyword, rule.operand)
        elif rule.keyword == EQ:
            self.other = False  # what is spelled like a number is one

    def _narrow(self, keyword: str, number: float) -> None:
        """All are doubles: what is greater than one is at least the next."""
        if keyword == "GT":
            self.low = max(self.low, math.nextafter(number, math.inf))
        elif keyword == "LT":
            self.high = min(self.high, math.nextafter(number, -math.inf))
        elif keyword == NEQ:
            self.holes.append(number)
        if keyword in ("GTE", EQ):
            self.low = max(self.low, number)
        if keyword in ("LTE", EQ):
            self.high = min(self.high, number)

    def close(self) -> None:
        for _ in self.holes:
            if self.low in self.holes:
                self.low = math.nextafter(self.low, math.inf)
            if self.high in self.holes:
                self.high = math.nextafter(self.high, -math.inf)
        texts = self.of_numbers
        characters = _OF_PAYLOAD if self.whole else _OF_FIELD
        # A rule that compares texts has an operand that is no finite number.
        self.finite = (
            self.low <= self.high
            and self.low < math.inf
            and self.high > -math.inf
            and texts.equals is None
            and texts.spell(characters)
        )
        if self.infinite:
            self.infinite = not texts.impossible and (
                texts.spell(characters) if self.whole else self._spells_infinite()
            )
            if texts.equals is not None and not self._is_infinite(texts.equals):
                self.infinite = False
        self.other = self.other and not self.of_others.impossible

    def _spells_infinite(self) -> bool:
        for text in _INFINITE_FIELDS:
            if all(part in text for part in self.of_numbers.contained):
                return True
        return False

    def _is_infinite(self, text: str) -> bool:
        if self.whole:
            return abs(read_number(text.encode())) == math.inf
        return text in _INFINITE_FIELDS

    def never(self) -> bool:
        return not (self.finite or self.infinite or self.other)

    def imply(self, rule: RuleNode) -> bool:
        """Whether all that passes passes this rule too, which is on the same field."""
        if spelled(rule) in self.known:
            return True
        keyword = rule.keyword
        operand = rule.operand
        if _compares_numbers(rule):
            assert rule.number is not None
            if self.infinite or (self.finite and not self._within(keyword, rule.number)):
                return False
            if not self.other:
                return True
            if self.whole:
                return keyword == NEQ
            return self.of_others.imply(keyword, operand)
        texts = self.of_numbers
        if self.finite and not (keyword == NEQ or texts.imply(keyword, operand)):
            return False
        if self.infinite and not (
            texts.imply(keyword, operand) or (keyword == NEQ and not self._is_infinite(operand))
        ):
            return False
        return not self.other or self.of_others.imply(keyword, operand)

    def _within(self, keyword: str, number: float) -> bool:
        """Whether every finite number that passes compares so with this one."""
        match keyword:
            case "GT":
                return self.low > number
            case "GTE":
                return self.low >= number
            case "LT":
                return self.high < number
            case "LTE":
                return self.high <= number
            case "EQ":
                return self.low == self.high == number
            case "NEQ":
                return number < self.low or number > self.high or number in self.holes
        return False


def _compares_numbers(rule: RuleNode) -> bool:
    return rule.number is not None and RULES[rule.keyword].numbers is not None


def _steps(rule: RuleNode) -> tuple[str, ...]:
    """By which rules on one field know each other; a field has at least one step."""
    return () if rule.field is None else rule.field.steps


def _conditions(rules: Sequence[RuleNode]) -> dict[tuple[str, ...], _Conditions]:
    found: dict[tuple[str, ...], _Conditions] = {}
    for rule in rules:
        steps = _steps(rule)
        conditions = found.get(steps)
        if conditions is None:
            conditions = _Conditions(not steps)
            found[steps] = conditions
        conditions.add(rule)
    for conditions in found.values():
        conditions.close()
    return found


def _imply(fields: dict[tuple[str, ...], _Conditions], rules: Sequence[RuleNode]) -> bool:
    for conditions in fields.values():
        if conditions.never():
            return True
    for rule in rules:
        known = fields.get(_steps(rule))
        if known is None or not known.imply(rule):
            return False
    return True


@mypyc_attr(acyclic=True)
class Predicate:
    """A conjunction of rules, without those that follow from the others; never changes."""

    __slots__ = ("_checks", "_fields", "rules", "text")

    def __init__(self, text: str, rules: tuple[RuleNode, ...]) -> None:
        self.text = text
        self.rules = rules
        self._checks: list[Check] = checks_of(rules)
        self._fields = _conditions(rules)

    def __repr__(self) -> str:
        return f"Predicate({self.text!r})"

    def passes(self, publication: Publication) -> bool:
        return judge_all(self._checks, publication) == PASSES

    def implies(self, other: "Predicate") -> bool:
        """Sure: whatever passes this one passes the other. False where that is not known."""
        return self.text == other.text or _imply(self._fields, other.rules)

    def span(self) -> tuple[tuple[str, ...], float, float]:
        """The first field that it looks at, and between which numbers that has to lie."""
        for steps in sorted(self._fields):
            conditions = self._fields[steps]
            return steps, conditions.low, conditions.high
        return (), -math.inf, math.inf

    def implies_rule(self, rule: RuleNode) -> bool:
        return _imply(self._fields, (rule,))


def predicate_of(rules: Sequence[RuleNode]) -> Predicate:
    """Of the rules of a chain, in whatever order; of none of them, what everything passes."""
    by_text: dict[str, RuleNode] = {}
    for rule in rules:
        one = _canonical(rule)
        by_text[spelled(one)] = one
    texts = sorted(by_text)
    for text in sorted(by_text):
        others = [by_text[other] for other in texts if other != text]
        if others and _imply(_conditions(others), (by_text[text],)):
            texts.remove(text)
    return Predicate("".join(texts), tuple([by_text[text] for text in texts]))


def read_predicate(text: str) -> Predicate:
    """What another broker wrote. Raises PlusError for what none writes."""
    return predicate_of(parse_rules(text))


def _canonical(rule: RuleNode) -> RuleNode:
    operand = rule.operand
    # A field may be the text "30.0", which `$EQ;30.0` passes and `$EQ;30` does not.
    if _compares_numbers(rule) and (rule.field is None or RULES[rule.keyword].texts is None):
        assert rule.number is not None
        operand = _number_text(rule.number)
    field = rule.field
    if field is not None:
        field = Field(_field_text(field.steps), field.steps)
    return RuleNode(rule.keyword, operand, rule.number, field)


def _number_text(number: float) -> str:
    if number.is_integer() and abs(number) < _EXACT:
        return str(int(number))
    return repr(number).replace("e+", "e")


def _field_text(steps: tuple[str, ...]) -> str:
    """A path where that can say it, else a pointer."""
    path = ".".join(steps)
    if "" not in steps and path[0] != "/" and path.count(".") == len(steps) - 1:
        return path
    return "".join(["/" + step.replace("~", "~0").replace("/", "~1") for step in steps])


def hull(predicates: Sequence[Predicate]) -> Predicate | None:
    """The narrowest conjunction found that each of them implies; None if that is everything.

    The same for the same predicates, in whatever order. The time is linear in their number.
    """
    by_text = {predicate.text: predicate for predicate in predicates}
    found: Predicate | None = None
    for text in sorted(by_text):
        found = by_text[text] if found is None else _hull_of_two(found, by_text[text])
        if not found.rules:
            return None
    return found


def _hull_of_two(one: Predicate, two: Predicate) -> Predicate:
    if one.implies(two):
        return two
    if two.implies(one):
        return one
    candidates = [*one.rules, *two.rules]
    for rule in [*one.rules, *two.rules]:
        if rule.keyword == EQ and rule.number is not None:
            # What no rule of either says: the values lie between two that each of them is.
            text = _number_text(rule.number)
            candidates.append(RuleNode("GTE", text, rule.number, rule.field))
            candidates.append(RuleNode("LTE", text, rule.number, rule.field))
    common = [rule for rule in candidates if one.implies_rule(rule) and two.implies_rule(rule)]
    return _bounded(predicate_of(common))


def _bounded(predicate: Predicate) -> Predicate:
    """Less than all of its rules is sound, where all would be more than `read_predicate` takes."""
    kept: list[RuleNode] = []
    size = 0
    for rule in predicate.rules:
        size += len(spelled(rule))
        if size > MAX_PREDICATE_CHARACTERS or len(kept) == MAX_OPERATORS:
            break
        kept.append(rule)
    return predicate if len(kept) == len(predicate.rules) else predicate_of(kept)
