"""`$LT;30` passes numbers less than the argument."""

import operator

from gossamer.plus.operators.kinds import RuleKind

LT = RuleKind("LT", "passes numbers less than the argument", operator.lt, None)
