"""Every operator of the registry is compiled for Spark, or there is a reason why it is not."""

import inspect

import pytest

from gossamer.plus.operators.kinds import GroupKind, OperatorKind, ProcessorKind, SequenceKind
from gossamer.plus.operators.windows import Window
from gossamer.plus.plan import PlusError, RuleNode
from gossamer.plus.registry import AGGREGATES, OPERATORS, OPTIONS, RULES

pytest.importorskip("pyspark")

from gossamer.spark import subscribe
from gossamer.spark.compiler import expressions
from gossamer.spark.compiler.expressions import NOT_COMPILED, admits

# Options by the parameter of `subscribe` that sets them.
PARAMETERS = {"plus_reply": "reply"}
# What the registry says of one is enough to compile any; sequences run as they are.
WITHOUT_EXPRESSION = (Window, ProcessorKind, SequenceKind, GroupKind)


@pytest.mark.parametrize("kind", OPERATORS, ids=lambda kind: kind.keyword)
def test_every_operator_is_compiled_or_has_a_reason(kind: OperatorKind) -> None:
    tables = (expressions.RULES, expressions.AGGREGATES, PARAMETERS, NOT_COMPILED)
    known = sum(kind.keyword in table for table in tables)
    assert known == (0 if isinstance(kind, WITHOUT_EXPRESSION) else 1)
    assert NOT_COMPILED.get(kind.keyword, "a reason")


def test_nothing_is_compiled_that_is_not_in_the_registry() -> None:
    assert list(expressions.RULES) == list(RULES)
    assert list(expressions.AGGREGATES) == list(AGGREGATES)
    assert PARAMETERS.keys() | NOT_COMPILED.keys() == OPTIONS.keys()
    assert set(PARAMETERS.values()) <= inspect.signature(subscribe).parameters.keys()


@pytest.mark.parametrize("keyword", RULES)
def test_a_rule_compares_what_the_broker_compares(keyword: str) -> None:
    here, there = expressions.RULES[keyword], RULES[keyword]
    assert (here.numbers is None) == (there.numbers is None)
    assert (here.texts is None) == (there.texts is None)


def test_what_is_not_compiled_is_refused(spark: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(expressions.RULES, "GT")
    with pytest.raises(PlusError, match=r"\$GT cannot be computed in Spark: nobody has written"):
        admits((RuleNode("GT", "1", 1.0, None),), None)  # type: ignore[arg-type]
