"""`$CONTAINS;alarm` passes text that contains the argument."""

import operator

from gossamer.plus.operators.kinds import RuleKind

CONTAINS = RuleKind("CONTAINS", "passes text that contains the argument", None, operator.contains)
