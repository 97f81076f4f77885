"""`$EQ;30` passes values equal to the argument."""

import operator

from gossamer.plus.operators.kinds import RuleKind

EQ = RuleKind("EQ", "passes values equal to the argument", operator.eq, operator.eq)
