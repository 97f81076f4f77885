"""`$LTE;30` passes numbers less than or equal to the argument."""

import operator
from typing import Final

from gossamer.plus.operators.kinds import RuleKind

LTE: Final = RuleKind("LTE", "passes numbers less than or equal to the argument", operator.le, None)
