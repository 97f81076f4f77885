"""`$LT;30` passes numbers less than the argument."""

import operator
from typing import Final

from gossamer.plus.operators.kinds import RuleKind

LT: Final = RuleKind("LT", "passes numbers less than the argument", operator.lt, None)
