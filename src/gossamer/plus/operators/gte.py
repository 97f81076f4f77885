"""`$GTE;30` passes numbers greater than or equal to the argument."""

import operator

from gossamer.plus.operators.kinds import RuleKind

GTE = RuleKind("GTE", "passes numbers greater than or equal to the argument", operator.ge, None)
