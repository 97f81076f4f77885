"""`$LTE;30` passes numbers less than or equal to the argument."""

import operator

from gossamer.plus.operators.kinds import RuleKind

LTE = RuleKind("LTE", "passes numbers less than or equal to the argument", operator.le, None)
