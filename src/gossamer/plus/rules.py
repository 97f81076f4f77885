"""How rules judge: publications, with a verdict, and the results of aggregates."""

from typing import Final

from gossamer.plus.operators.kinds import NumberTest
from gossamer.plus.plan import RuleNode
from gossamer.plus.publication import NOT_NUMERIC, Publication
from gossamer.plus.registry import RULES
from gossamer.plus.values import write_number

FAILS: Final = 0
PASSES: Final = 1
SKIPPED: Final = 2  # the value is not one the rule can judge; the publication's `trouble` says why


class Check:
    """One rule, ready to judge."""

    __slots__ = ("field", "number", "numbers", "operand", "texts")

    def __init__(self, rule: RuleNode) -> None:
        kind = RULES[rule.keyword]
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
