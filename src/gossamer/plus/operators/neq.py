"""`$NEQ;30` passes values different from the argument."""

import operator

from gossamer.plus.operators.kinds import RuleKind

NEQ = RuleKind("NEQ", "passes values different from the argument", operator.ne, operator.ne)
