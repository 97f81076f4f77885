"""The rules `$EQ $NEQ $GT $GTE $LT $LTE $CONTAINS`: a table of comparisons, and how they judge."""

import operator
from collections.abc import Callable
from typing import Final

from gossamer.plus.nodes import RuleNode
from gossamer.plus.publication import NOT_NUMERIC, Publication
from gossamer.plus.values import write_number

FAILS: Final = 0
PASSES: Final = 1
SKIPPED: Final = 2  # the value is not one the rule can judge; the publication's `trouble` says why

NumberTest = Callable[[float, float], bool]
TextTest = Callable[[str, str], bool]


class RuleKind:
    """What a keyword compares. A rule without a text comparison takes numbers only."""

    def __init__(
        self, keyword: str, description: str, numbers: NumberTest | None, texts: TextTest | None
    ) -> None:
        self.keyword = keyword
        self.description = description
        self.numbers = numbers
        self.texts = texts


RULES: Final = (
    RuleKind("EQ", "passes values equal to the argument", operator.eq, operator.eq),
    RuleKind("NEQ", "passes values different from the argument", operator.ne, operator.ne),
    RuleKind("GT", "passes numbers greater than the argument", operator.gt, None),
    RuleKind("GTE", "passes numbers greater than or equal to the argument", operator.ge, None),
    RuleKind("LT", "passes numbers less than the argument", operator.lt, None),
    RuleKind("LTE", "passes numbers less than or equal to the argument", operator.le, None),
    RuleKind("CONTAINS", "passes text that contains the argument", None, operator.contains),
)
RULES_BY_KEYWORD: Final = {kind.keyword: kind for kind in RULES}


class Check:
    """One rule, ready to judge."""

    __slots__ = ("field", "number", "numbers", "operand", "texts")

    def __init__(self, rule: RuleNode) -> None:
        kind = RULES_BY_KEYWORD[rule.keyword]
        self.field = rule.field
        self.operand = rule.operand
        self.number = 0.0
        self.numbers: NumberTest | None = None
        if rule.number is not None:
            self.number = rule.number
            self.numbers = kind.numbers
        self.texts = kind.texts

    def judge(self, publication: Publication) -> int:
        if self.numbers is not None:
            value = publication.as_number(self.field)
            if value == value:
                return PASSES if self.numbers(value, self.number) else FAILS
            if self.texts is None or publication.trouble != NOT_NUMERIC:
                return SKIPPED
        if self.texts is None:
            return FAILS
        text = publication.as_text(self.field)
        if text is None:
            return SKIPPED
        return PASSES if self.texts(text, self.operand) else FAILS

    def admits(self, value: float) -> bool:
        """For the results of aggregates."""
        if self.numbers is not None:
            return self.numbers(value, self.number)
        return self.texts is not None and self.texts(write_number(value).decode(), self.operand)


def checks_of(rules: tuple[RuleNode, ...]) -> list[Check]:
    """Innermost first: the order in which a value meets them."""
    return [Check(rule) for rule in reversed(rules)]


def judge_all(checks: list[Check], publication: Publication) -> int:
    """The verdict of a conjunction: the first that is not PASSES, if any."""
    for check in checks:
        verdict = check.judge(publication)
        if verdict != PASSES:
            return verdict
    return PASSES


def admits_all(checks: list[Check], value: float) -> bool:
    for check in checks:  # noqa: SIM110 - a loop compiles to C, a generator does not
        if not check.admits(value):
            return False
    return True
