"""Every operator of the registry is compiled for Spark, or there is a reason why it is not."""

import inspect

import pytest

from gossamer.plus.operators.kinds import OperatorKind, RuleKind
from gossamer.plus.registry import AGGREGATES, OPERATORS, OPTIONS, RULES

pytest.importorskip("pyspark")

from gossamer.spark import subscribe
from gossamer.spark.compiler import expressions
from gossamer.spark.compiler.expressions import NOT_COMPILED, PARAMETERS, why_not


@pytest.mark.parametrize("kind", OPERATORS, ids=lambda kind: kind.keyword)
def test_every_operator_is_compiled_or_has_a_reason(kind: OperatorKind) -> None:
    assert why_not(kind) == NOT_COMPILED.get(kind.keyword, "")


def test_an_operator_without_an_expression_is_seen() -> None:
    assert "expression" in why_not(RuleKind("NEW", "is new", None, None))


def test_nothing_is_compiled_that_is_not_in_the_registry() -> None:
    assert list(expressions.RULES) == list(RULES)
    assert list(expressions.AGGREGATES) == list(AGGREGATES)
    assert PARAMETERS.keys() | NOT_COMPILED.keys() == OPTIONS.keys()
    assert set(PARAMETERS.values()) <= inspect.signature(subscribe).parameters.keys()


@pytest.mark.parametrize("keyword", RULES)
def test_a_rule_compares_what_the_broker_compares(keyword: str) -> None:
    here, there = expressions.RULES[keyword], RULES[keyword]
    assert (here.numbers is None, here.texts is None) == (
        there.numbers is None,
        there.texts is None,
    )
