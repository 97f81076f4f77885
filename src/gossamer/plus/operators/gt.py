"""`$GT;30` passes numbers greater than the argument."""

import operator
from typing import Final

from gossamer.plus.operators.kinds import RuleKind

GT: Final = RuleKind("GT", "passes numbers greater than the argument", operator.gt, None)
