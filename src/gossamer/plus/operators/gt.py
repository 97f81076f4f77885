"""`$GT;30` passes numbers greater than the argument."""

import operator

from gossamer.plus.operators.kinds import RuleKind

GT = RuleKind("GT", "passes numbers greater than the argument", operator.gt, None)
